package main

import (
	"context"
	"encoding/json"
	"math/big"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"kusionstack.io/operator/test/provider/backend"
)

// found is the data source: an object of the back end, by its id, whoever made it.
type found struct{ address backend.Address }

var _ datasource.DataSourceWithConfigure = &found{}

func (f *found) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_found"
}

func computed() schema.StringAttribute { return schema.StringAttribute{Computed: true} }

func (f *found) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id":      schema.StringAttribute{Required: true},
			"fail_on": schema.SetAttribute{Optional: true, ElementType: types.StringType}, // read, null, unknown
			"delay":   schema.StringAttribute{Optional: true},
			"label":   schema.StringAttribute{Optional: true, Computed: true}, // the object's name, where it is left out
			"text":    computed(),
			"serial":  schema.NumberAttribute{Computed: true},
			"secret":  schema.StringAttribute{Computed: true, Sensitive: true},
			"list":    schema.ListAttribute{Computed: true, ElementType: types.StringType},
			"map":     schema.MapAttribute{Computed: true, ElementType: types.StringType},
			"inner": schema.SingleNestedAttribute{Computed: true, Attributes: map[string]schema.Attribute{
				"text": computed(), "secret": schema.StringAttribute{Computed: true, Sensitive: true}}},
		},
		Blocks: map[string]schema.Block{
			"field": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"name": schema.StringAttribute{Required: true}, "value": computed()}}}, // as JSON
		},
	}
}

func (f *found) Configure(_ context.Context, req datasource.ConfigureRequest, _ *datasource.ConfigureResponse) {
	f.address, _ = req.ProviderData.(backend.Address)
}

type foundInner struct {
	Text   *string `tfsdk:"text"`
	Secret *string `tfsdk:"secret"`
}

type foundField struct {
	Name  string  `tfsdk:"name"`
	Value *string `tfsdk:"value"`
}

type foundModel struct {
	ID     string            `tfsdk:"id"`
	FailOn []string          `tfsdk:"fail_on"`
	Delay  *string           `tfsdk:"delay"`
	Label  *string           `tfsdk:"label"`
	Text   types.String      `tfsdk:"text"`
	Serial *big.Float        `tfsdk:"serial"`
	Secret *string           `tfsdk:"secret"`
	List   []string          `tfsdk:"list"`
	Map    map[string]string `tfsdk:"map"`
	Inner  *foundInner       `tfsdk:"inner"`
	Field  []foundField      `tfsdk:"field"`
}

func textOf(object backend.Object, name string) *string {
	if text, is := object[name].(string); is {
		return &text
	}
	return nil
}

func (m *foundModel) fill(object backend.Object) {
	if m.Label == nil {
		m.Label = textOf(object, "name")
	}
	m.Text, m.Secret = types.StringPointerValue(textOf(object, "text")), textOf(object, "secret")
	if serial, is := object["serial"].(json.Number); is {
		m.Serial, _ = new(big.Float).SetString(serial.String())
	}
	m.List, m.Map = []string{m.Text.ValueString()}, map[string]string{"text": m.Text.ValueString()}
	m.Inner = &foundInner{Text: m.Text.ValueStringPointer(), Secret: m.Secret}
	for i := range m.Field {
		value, _ := json.Marshal(object[m.Field[i].Name])
		text := string(value)
		m.Field[i].Value = &text
	}
}

func (f *found) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model foundModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	knobs := backend.Knobs{FailOn: model.FailOn}
	if model.Delay != nil {
		knobs.Delay = *model.Delay
	}
	if note(&resp.Diagnostics, knobs.Begin("read")) {
		return
	}
	if slices.Contains(model.FailOn, "null") {
		resp.State.RemoveResource(ctx)
		return
	}
	object, err := f.address.Get(model.ID)
	if note(&resp.Diagnostics, err) {
		return
	}
	if object == nil {
		resp.Diagnostics.AddAttributeError(path.Root("id"), "there is no such object", model.ID)
		return
	}
	model.fill(object)
	if slices.Contains(model.FailOn, "unknown") {
		model.Text = types.StringUnknown()
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &model)...)
}
