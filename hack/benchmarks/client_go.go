// What client-go needs for the same work, for benchmarks that measure it beside the operator:
//
//	client_go informer NAMESPACE   a metadata informer of the ConfigMaps that have an owner of ours. After its first
//	                               list it prints its memory, and ends
//	client_go dry-run [read]       of each ConfigMap on stdin, a JSON object a line, a server-side apply as a dry-run,
//	                               four at once; read: after a GET, as Flux's kustomize-controller does it
//
// It prints a JSON object. $KUBECONFIG names the cluster.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	owner  = "api.kusion.io/owner"
	atOnce = 4 // kustomize-controller's --concurrent-ssa
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, "client_go:", err)
		os.Exit(1)
	}
	return value
}

// Bytes of a field of /proc/self/status.
func resident(field string) int {
	for _, line := range strings.Split(string(must(os.ReadFile("/proc/self/status"))), "\n") {
		if rest, found := strings.CutPrefix(line, field+":"); found {
			var kilobytes int
			must(fmt.Sscan(rest, &kilobytes))
			return kilobytes * 1024
		}
	}
	return 0
}

func informer(config *rest.Config, namespace string) map[string]any {
	selected := func(options *metav1.ListOptions) { options.LabelSelector = owner }
	client := must(metadata.NewForConfig(config))
	before := resident("VmRSS")
	shared := metadatainformer.NewFilteredMetadataInformer(client, configMaps, namespace, 0, cache.Indexers{}, selected).Informer()
	go shared.Run(nil)
	if !cache.WaitForCacheSync(nil, shared.HasSynced) {
		must(0, fmt.Errorf("the informer has not listed"))
	}
	debug.FreeOSMemory() // the list is garbage now
	time.Sleep(2 * time.Second)
	debug.FreeOSMemory()
	return map[string]any{"objects": len(shared.GetStore().ListKeys()), "before": before, "after": resident("VmRSS"),
		"highest": resident("VmHWM")}
}

func dryRun(config *rest.Config, read bool) map[string]any {
	client := must(dynamic.NewForConfig(config)).Resource(configMaps)
	lines := make(chan []byte)
	var working sync.WaitGroup
	count, begun := 0, time.Now()
	for range atOnce {
		working.Go(func() {
			for line := range lines {
				object := &unstructured.Unstructured{}
				must(0, json.Unmarshal(line, object))
				of := client.Namespace(object.GetNamespace())
				if read {
					must(of.Get(context.TODO(), object.GetName(), metav1.GetOptions{}))
				}
				force := true
				must(of.Patch(context.TODO(), object.GetName(), types.ApplyPatchType, line,
					metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "client-go", Force: &force}))
			}
		})
	}
	for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); count++ {
		lines <- append([]byte(nil), scanner.Bytes()...)
	}
	close(lines)
	working.Wait()
	return map[string]any{"objects": count, "seconds": time.Since(begun).Seconds()}
}

func main() {
	config := must(clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")))
	config.QPS = -1 // no limit
	var result map[string]any
	switch {
	case len(os.Args) == 3 && os.Args[1] == "informer":
		result = informer(config, os.Args[2])
	case len(os.Args) >= 2 && os.Args[1] == "dry-run":
		result = dryRun(config, len(os.Args) == 3 && os.Args[2] == "read")
	default:
		must(0, fmt.Errorf("usage: client_go informer NAMESPACE | dry-run [read]"))
	}
	fmt.Println(string(must(json.Marshal(result))))
}
