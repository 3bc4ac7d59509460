package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"kusionstack.io/operator/test/provider/backend"
)

type attrType = attr.Type

type thing struct {
	kind    string
	schema  schema.Schema
	address backend.Address
	token   *string // the provider's
}

var (
	_ resource.ResourceWithConfigure   = &thing{}
	_ resource.ResourceWithModifyPlan  = &thing{}
	_ resource.ResourceWithImportState = &thing{}
	_ resource.ResourceWithIdentity    = &thing{}
	_ resource.ResourceWithMoveState   = &renamed{}
)

func (t *thing) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + t.kind
}

func (t *thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = t.schema
}

// IdentitySchema says that an object is told from all others by its id.
func (t *thing) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest,
	resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Version: 3, Attributes: map[string]identityschema.Attribute{
		"object": identityschema.StringAttribute{RequiredForImport: true}}}
}

func (t *thing) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	if config, has := req.ProviderData.(*configuration); has {
		t.address, t.token = backend.Address(config.Address), config.Token
	}
}

// ---- Values ----

// attributes are those of a plan, a state or a configuration.
type values interface {
	GetAttribute(ctx context.Context, path path.Path, target any) diag.Diagnostics
}

func get[T any](ctx context.Context, from values, name string) T {
	var value *T
	from.GetAttribute(ctx, path.Root(name), &value)
	if value == nil {
		return *new(T)
	}
	return *value
}

// knobs are those of from; told is what is quoted.
func (t *thing) knobs(ctx context.Context, from values, diags *diag.Diagnostics, told ...tftypes.Value) backend.Knobs {
	knobs := backend.Knobs{FailOn: get[[]string](ctx, from, "fail_on"), Delay: get[string](ctx, from, "delay")}
	all := []any{}
	for _, one := range told {
		if one.IsNull() {
			continue
		}
		all = append(all, one.String())
		if plain, err := plainOf(t.typeOf(ctx), one); err == nil {
			text, _ := json.Marshal(plain)
			all = append(all, string(text))
		}
	}
	if t.token != nil {
		all = append(all, *t.token)
	}
	if text := knobs.Tell(all...); text != "" {
		diags.AddWarning("it was told "+text, text)
	}
	return knobs
}

// complete makes up what is not known: "made-2" by the second change.
func complete(planned tftypes.Value, id string, serial int64) (tftypes.Value, error) {
	return tftypes.Transform(planned, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		name, _ := at.LastStep().(tftypes.AttributeName)
		text := fmt.Sprintf("%s-%d", name, serial)
		switch {
		case v.IsKnown():
			return v, nil
		case name == "id":
			return tftypes.NewValue(v.Type(), id), nil
		case v.Type().Is(tftypes.Number):
			return tftypes.NewValue(v.Type(), serial), nil
		case v.Type().Is(tftypes.String):
			return tftypes.NewValue(v.Type(), text), nil
		case name == "made_list":
			return tftypes.NewValue(v.Type(), []tftypes.Value{tftypes.NewValue(tftypes.String, text)}), nil
		}
		return tftypes.NewValue(v.Type(), nil), nil
	})
}

// plainOf is the value as JSON's library takes it; of is its type by the schema.
func plainOf(of tftypes.Type, v tftypes.Value) (any, error) {
	if v.IsNull() {
		return nil, nil
	}
	var err error
	switch of := of.(type) {
	case tftypes.Object:
		var members map[string]tftypes.Value
		v.As(&members)
		all := map[string]any{}
		for name, one := range members {
			if all[name], err = plainOf(of.AttributeTypes[name], one); err != nil {
				return nil, err
			}
		}
		return all, nil
	case tftypes.Map:
		var members map[string]tftypes.Value
		v.As(&members)
		all := map[string]any{}
		for name, one := range members {
			if all[name], err = plainOf(of.ElementType, one); err != nil {
				return nil, err
			}
		}
		return all, nil
	case tftypes.List:
		return itemsOf(func(int) tftypes.Type { return of.ElementType }, v)
	case tftypes.Set:
		return itemsOf(func(int) tftypes.Type { return of.ElementType }, v)
	case tftypes.Tuple:
		return itemsOf(func(i int) tftypes.Type { return of.ElementTypes[i] }, v)
	}
	if of.Is(tftypes.DynamicPseudoType) {
		if v.Type().Is(tftypes.DynamicPseudoType) {
			return nil, errors.New("it is not known, nor is its type")
		}
		value, err := plainOf(v.Type(), v)
		return map[string]any{"type": v.Type(), "value": value}, err
	}
	return scalarOf(v)
}

func itemsOf(typeOf func(int) tftypes.Type, v tftypes.Value) (any, error) {
	var items []tftypes.Value
	v.As(&items)
	all := make([]any, len(items))
	for i, one := range items {
		var err error
		if all[i], err = plainOf(typeOf(i), one); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func scalarOf(v tftypes.Value) (any, error) {
	switch {
	case v.Type().Is(tftypes.String):
		var text string
		err := v.As(&text)
		return text, err
	case v.Type().Is(tftypes.Bool):
		var flag bool
		err := v.As(&flag)
		return flag, err
	}
	var number big.Float
	err := v.As(&number)
	return json.Number(number.Text('g', -1)), err
}

// ---- Objects ----

func (t *thing) typeOf(ctx context.Context) tftypes.Type { return t.schema.Type().TerraformType(ctx) }

// objectOf is what the back end keeps: with what may only be written, but without the id.
func (t *thing) objectOf(ctx context.Context, state tftypes.Value, config values) (backend.Object, error) {
	all, err := plainOf(t.typeOf(ctx), state)
	if err != nil {
		return nil, err
	}
	object := backend.Object(all.(map[string]any))
	delete(object, "id")
	if _, has := object["token"]; has {
		object["token"] = get[string](ctx, config, "token")
	}
	return object, nil
}

func (t *thing) stateOf(ctx context.Context, object backend.Object, id string) (tftypes.Value, error) {
	object["id"] = id
	if _, has := object["token"]; has {
		object["token"] = nil
	}
	text, err := json.Marshal(object)
	if err != nil {
		return tftypes.Value{}, err
	}
	return tftypes.ValueFromJSON(text, t.typeOf(ctx)) //nolint:staticcheck
}

// ---- Calls ----

// A private mark comes with the object, and Terraform has to bring it back.
const mark = "mark"

type private interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func checkMark(ctx context.Context, from private, diags *diag.Diagnostics) {
	if value, _ := from.GetKey(ctx, mark); string(value) != `{"is":"ours"}` {
		diags.AddError("private state is lost", string(value))
	}
}

// checkIdentity wants what was said of the object before. (OpenTofu does not tell it with a deletion.)
func checkIdentity(ctx context.Context, from *tfsdk.ResourceIdentity, id string, diags *diag.Diagnostics) {
	if said := get[string](ctx, from, "object"); said != id {
		diags.AddError("the identity is lost", fmt.Sprintf("%q is %q", id, said))
	}
}

func setIdentity(ctx context.Context, to *tfsdk.ResourceIdentity, id string, diags *diag.Diagnostics) {
	diags.Append(to.SetAttribute(ctx, path.Root("object"), id)...)
}

func note(diags *diag.Diagnostics, err error) bool {
	if err != nil {
		diags.AddError("the back end", err.Error())
	}
	return err != nil
}

// hasUntyped tells whether a dynamic value is unknown, and so is its type: kubernetes_manifest refuses that.
func hasUntyped(config tftypes.Value) bool {
	found := false
	_ = tftypes.Walk(config, func(_ *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		found = found || !v.IsKnown() && v.Type().Is(tftypes.DynamicPseudoType)
		return true, nil
	})
	return found
}

func (t *thing) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !req.State.Raw.IsNull() {
		checkMark(ctx, req.Private, &resp.Diagnostics)
	}
	if req.Plan.Raw.IsNull() || note(&resp.Diagnostics,
		t.knobs(ctx, req.Plan, &resp.Diagnostics, req.Config.Raw, req.Plan.Raw, req.State.Raw).Fail("plan")) {
		return
	}
	if slices.Contains(get[[]string](ctx, req.Plan, "fail_on"), "untyped") && hasUntyped(req.Config.Raw) {
		resp.Diagnostics.AddAttributeError(path.Root("any"), "it has no type", "an unknown value is dynamic")
	}
	if get[bool](ctx, req.Plan, "deferred") && req.ClientCapabilities.DeferralAllowed {
		resp.Deferred = &resource.Deferred{Reason: resource.DeferredReasonAbsentPrereq}
	}
	if t.kind == "thing" && !req.State.Raw.IsNull() &&
		get[string](ctx, req.Plan, "token_version") != get[string](ctx, req.State, "token_version") {
		resp.RequiresReplace.Append(path.Root("token"))
	}
}

func (t *thing) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	knobs := t.knobs(ctx, req.Plan, &resp.Diagnostics, req.Config.Raw, req.Plan.Raw)
	if note(&resp.Diagnostics, knobs.Begin("create")) {
		return
	}
	state, err := complete(req.Plan.Raw, "", 1)
	if note(&resp.Diagnostics, err) {
		return
	}
	object, err := t.objectOf(ctx, state, req.Config)
	if note(&resp.Diagnostics, err) {
		return
	}
	id, err := t.address.Create(t.kind, get[string](ctx, req.Plan, "name"), object)
	if note(&resp.Diagnostics, err) {
		return
	}
	resp.State.Raw, err = complete(req.Plan.Raw, id, 1)
	note(&resp.Diagnostics, err)
	setIdentity(ctx, resp.Identity, id, &resp.Diagnostics)
	note(&resp.Diagnostics, knobs.Fail("create_half"))
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, mark, []byte(`{"is":"ours"}`))...)
}

func (t *thing) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	checkMark(ctx, req.Private, &resp.Diagnostics)
	if note(&resp.Diagnostics, t.knobs(ctx, req.State, &resp.Diagnostics, req.State.Raw).Fail("read")) {
		return
	}
	id := get[string](ctx, req.State, "id")
	checkIdentity(ctx, req.Identity, id, &resp.Diagnostics)
	object, err := t.address.Get(id)
	if note(&resp.Diagnostics, err) {
		return
	}
	if object == nil {
		resp.State.RemoveResource(ctx)
		return
	}
	resp.State.Raw, err = t.stateOf(ctx, object, id)
	note(&resp.Diagnostics, err)
	setIdentity(ctx, resp.Identity, id, &resp.Diagnostics)
}

// ImportState takes an object over by its id, which it says aloud.
func (t *thing) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	fmt.Fprintln(os.Stderr, req.ID)
	resp.Diagnostics.AddWarning("importing "+req.ID, req.ID)
	if object, err := t.address.Get(req.ID); note(&resp.Diagnostics, err) || object == nil {
		resp.Diagnostics.AddError("there is no "+req.ID, req.ID)
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("id"), req.ID)...)
	setIdentity(ctx, resp.Identity, req.ID, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, mark, []byte(`{"is":"ours"}`))...)
}

func (t *thing) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	checkMark(ctx, req.Private, &resp.Diagnostics)
	knobs := t.knobs(ctx, req.Plan, &resp.Diagnostics, req.Config.Raw, req.Plan.Raw, req.State.Raw)
	if note(&resp.Diagnostics, knobs.Begin("update")) {
		return
	}
	before := get[big.Float](ctx, req.State, "serial")
	serial, _ := before.Int64()
	id := get[string](ctx, req.State, "id")
	checkIdentity(ctx, req.Identity, id, &resp.Diagnostics)
	state, err := complete(req.Plan.Raw, id, serial+1)
	if note(&resp.Diagnostics, err) {
		return
	}
	object, err := t.objectOf(ctx, state, req.Config)
	if note(&resp.Diagnostics, err) || note(&resp.Diagnostics, t.address.Put(id, object)) {
		return
	}
	resp.State.Raw = state
	note(&resp.Diagnostics, knobs.Fail("update_half"))
}

func (t *thing) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	knobs := t.knobs(ctx, req.State, &resp.Diagnostics, req.State.Raw)
	if note(&resp.Diagnostics, knobs.Begin("delete")) {
		return
	}
	note(&resp.Diagnostics, t.address.Delete(get[string](ctx, req.State, "id")))
}

// ---- Another type for the same objects ----

type renamed struct{ thing }

// MoveState takes over an object of probe_thing.
func (r *renamed) MoveState(context.Context) []resource.StateMover {
	before := thingSchema()
	return []resource.StateMover{{SourceSchema: &before,
		StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
			if req.SourceTypeName == "probe_thing" && req.SourceState != nil {
				resp.TargetState.Raw = req.SourceState.Raw
				resp.TargetPrivate = req.SourcePrivate
				setIdentity(ctx, resp.TargetIdentity, get[string](ctx, req.SourceState, "id"), &resp.Diagnostics)
			}
		}}}
}
