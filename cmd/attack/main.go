// Command attack is the adversarial suite of the sandbox: "make attack". It
// tries what a hostile command or a hostile model would, and the same without
// the sandbox, and exits with 1 when anything got out. Started as root it does
// so once more as an ordinary user.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"sunaba/internal/attack"
	"sunaba/internal/attack/act"
	"sunaba/sandbox"
)

func main() {
	if sandbox.InWorker() {
		if err := sandbox.Serve(attack.NewWorker); err != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == act.Word {
		os.Exit(act.Main(os.Args[2:], os.Stdout))
	}
	os.Exit(run())
}

func run() int {
	only := flag.String("run", "", "only attacks whose names match this regular expression")
	list := flag.Bool("list", false, "name the attacks and end")
	alone := flag.Bool("alone", false, "not as an ordinary user as well")
	escapes := flag.Bool("escapes", false, "without twins, and print the names of what got out only")
	ablate := flag.Bool("ablate", false, "leave each mechanism out in turn (a build with -tags ablation)")
	flag.Parse()
	if *ablate {
		return without()
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		return 64
	}
	var attacks []attack.Attack
	for _, a := range attack.All() {
		if wanted.MatchString(a.Name) {
			attacks = append(attacks, a)
		}
	}
	if *list {
		for _, a := range attacks {
			fmt.Println(a.Name)
		}
		return 0
	}
	if *escapes {
		err := attack.Run(attacks, false, func(r attack.Result) {
			if r.Status == attack.Escaped {
				fmt.Println(r.Attack.Name)
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "attack:", err)
			return 1
		}
		return 0
	}
	began := time.Now()
	var results []attack.Result
	err = attack.Run(attacks, true, func(r attack.Result) { results = append(results, r) })
	fmt.Printf("as user %d\n\n", os.Geteuid())
	bad := attack.Report(os.Stdout, results)
	fmt.Printf("%.0f s\n", time.Since(began).Seconds())
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		return 1
	}
	code := 0
	if bad > 0 {
		code = 1
	}
	if os.Geteuid() == 0 && !*alone {
		if err := attack.AsUser(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "attack: as an ordinary user:", err)
			code = 1
		}
	}
	return code
}

// without shows what each mechanism stops.
func without() int {
	if !attack.CanAblate {
		fmt.Fprintln(os.Stderr, "attack: this build leaves nothing out: go build -tags ablation")
		return 64
	}
	bad, err := attack.Ablate("/proc/self/exe", os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		return 1
	}
	if bad > 0 {
		return 1
	}
	return 0
}
