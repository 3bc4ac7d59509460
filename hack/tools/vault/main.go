// Vault for hack/soak secrets: its core, its HTTP API, its engine KV and its auth method kubernetes, in memory and
// in clear, as `vault server -dev` has them. Vault's own program has all other engines as well, which are twice as
// much to build.
//
//	vault ADDRESS    initializes and unseals it, prints {"root_token": …, "key": …}, and serves
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	kubernetes "github.com/hashicorp/vault-plugin-auth-kubernetes"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

// Which engines there are, for the catalogue of plugins.
type engines struct{}

func (engines) Contains(name string, kind consts.PluginType) bool {
	return (name == "kv" && kind == consts.PluginTypeSecrets) ||
		(name == "kubernetes" && kind == consts.PluginTypeCredential)
}

func (each engines) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	factory := logical.Factory(kv.Factory)
	if kind == consts.PluginTypeCredential {
		factory = kubernetes.Factory
	}
	return func() (interface{}, error) { return factory, nil }, each.Contains(name, kind)
}

func (engines) Keys(kind consts.PluginType) []string {
	switch kind {
	case consts.PluginTypeSecrets:
		return []string{"kv"}
	case consts.PluginTypeCredential:
		return []string{"kubernetes"}
	}
	return nil
}

func (each engines) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, each.Contains(name, kind)
}

func (engines) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	logger := hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Info})
	storage, err := inmem.NewInmem(nil, logger)
	must(err)
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:           storage,
		Logger:             logger,
		DisableMlock:       true,
		BuiltinRegistry:    engines{},
		LogicalBackends:    map[string]logical.Factory{"kv": kv.Factory},
		CredentialBackends: map[string]logical.Factory{"kubernetes": kubernetes.Factory},
	})
	must(err)
	one := &vault.SealConfig{SecretShares: 1, SecretThreshold: 1, StoredShares: 1}
	made, err := core.Initialize(context.Background(), &vault.InitParams{BarrierConfig: one})
	must(err)
	key := hex.EncodeToString(made.SecretShares[0]) // unsealing wipes its own
	_, err = core.Unseal(made.SecretShares[0])
	must(err)
	must(json.NewEncoder(os.Stdout).Encode(map[string]string{"root_token": made.RootToken, "key": key}))
	must(http.ListenAndServe(os.Args[1], vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core})))
}
