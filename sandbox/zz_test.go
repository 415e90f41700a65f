package sandbox
import ("testing";"time";"context";"fmt";"sort")
func TestZZ(t *testing.T){
 f:=policyOnly(t)
 var a,b []time.Duration
 for i:=0;i<40;i++{
  t0:=time.Now(); s,err:=Start(context.Background(),Options{Policy:f.p}); if err!=nil{t.Fatal(err)}
  t1:=time.Now(); s.Close(); t2:=time.Now()
  a=append(a,t1.Sub(t0)); b=append(b,t2.Sub(t1))
 }
 sort.Slice(a,func(i,j int)bool{return a[i]<a[j]}); sort.Slice(b,func(i,j int)bool{return b[i]<b[j]})
 fmt.Println("start",a[20],"close",b[20])
}
