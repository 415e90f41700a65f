// Command forgetful uses the sandbox without being able to be its Worker.
package main

import (
	"context"
	"fmt"
	"os"

	"sunaba/policy"
	"sunaba/sandbox"
)

func main() {
	resolved, err := policy.Resolve(policy.ForFolder(os.Args[len(os.Args)-1]))
	if err == nil {
		_, err = sandbox.Start(context.Background(), sandbox.Options{Policy: resolved.Effective, Placeholders: sandbox.VolatilePlaceholders()})
	}
	fmt.Println(err)
	if err != nil {
		os.Exit(1)
	}
}
