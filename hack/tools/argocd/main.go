// Argo CD for hack/soak argocd: its application controller and its repo-server as they are, and the redis that its
// own tests have. Its own program has the web interface, the API server and ten more, which are twice as much to build.
//
//	argocd redis ADDRESS       a cache in memory
//	argocd controller FLAG…    argocd-application-controller
//	argocd repo-server FLAG…   argocd-repo-server
//
// 3.2 is the last that can be had as a module: later ones replace their engine by a folder. 3.2.12 does not compile.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func redis() *cobra.Command {
	return &cobra.Command{Use: "redis ADDRESS", Args: cobra.ExactArgs(1), RunE: func(_ *cobra.Command, arguments []string) error {
		server := miniredis.NewMiniRedis()
		if err := server.StartAddr(arguments[0]); err != nil {
			return err
		}
		defer server.Close()
		fmt.Println("serving")
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
		<-end
		return nil
	}}
}

// named gives the command that name.
func named(name string, command *cobra.Command) *cobra.Command {
	command.Use = name
	return command
}

func main() {
	all := &cobra.Command{Use: "argocd", SilenceUsage: true}
	all.AddCommand(redis(), named("controller", controller.NewCommand()), named("repo-server", reposerver.NewCommand()))
	if all.Execute() != nil {
		os.Exit(1)
	}
}
