// terraform-provider-probe: a provider for tests, by the plugin framework, over protocol 6. Its
// resources have all that a schema can hold, schemas.go says what. All of them work alike
// (resource.go): a value that is not known is made up, and the object is put into the back end. Its
// data source reads an object from there (data.go).
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	provider_schema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"kusionstack.io/operator/test/provider/backend"
)

type probe struct{}

func (probe) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "probe"
}

func (probe) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema.Attributes = map[string]provider_schema.Attribute{
		"address": provider_schema.StringAttribute{Required: true},
		"token":   provider_schema.StringAttribute{Optional: true, Sensitive: true},
	}
}

type configuration struct {
	Address string  `tfsdk:"address"`
	Token   *string `tfsdk:"token"`
}

func (probe) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config configuration
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if config.Token != nil { // a careless one
		resp.Diagnostics.AddWarning("the token is "+*config.Token, *config.Token)
		log.Print(*config.Token)
	}
	if config.Token != nil && config.Address == "none" {
		resp.Diagnostics.AddError("the token is "+*config.Token, fmt.Sprintf("%q", os.Environ()))
	}
	resp.ResourceData = &config
	resp.DataSourceData = backend.Address(config.Address)
}

func (probe) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return &found{} }}
}

func (probe) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		func() resource.Resource { return &thing{kind: "thing", schema: thingSchema()} },
		func() resource.Resource { return &thing{kind: "blocks", schema: blocksSchema()} },
		func() resource.Resource { return &renamed{thing{kind: "renamed", schema: thingSchema()}} },
	}
}

func main() {
	err := providerserver.Serve(context.Background(), func() provider.Provider { return probe{} },
		providerserver.ServeOpts{Address: "registry.terraform.io/kusion/probe", ProtocolVersion: 6})
	if err != nil {
		log.Fatal(err)
	}
}
