package main

import (
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/listplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ---- Attributes ----

func text() schema.StringAttribute { return schema.StringAttribute{Optional: true} }

// replaced: a change of it replaces the object.
func replaced() schema.StringAttribute {
	return schema.StringAttribute{Optional: true,
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}}
}

// filled: the provider fills it in, where it is not configured, and then it stays.
func filled() schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

// floating: it is filled in anew by each change.
func floating() schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true}
}

func defaulted() schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true,
		Default: stringdefault.StaticString("blue")}
}

// kept and made are computed: the one stays, the other is made anew by each change.
func kept() schema.StringAttribute {
	return schema.StringAttribute{Computed: true,
		PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()}}
}

func made() schema.StringAttribute { return schema.StringAttribute{Computed: true} }

// common is what each resource has.
func common() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":     kept(),
		"name":   schema.StringAttribute{Required: true, PlanModifiers: replaced().PlanModifiers},
		"serial": schema.NumberAttribute{Computed: true}, // the number of its changes
		"fail_on": schema.SetAttribute{Optional: true,
			ElementType: types.StringType}, // backend.Knobs
		"delay":    text(),
		"deferred": schema.BoolAttribute{Optional: true},
	}
}

// ---- Nested ----

func attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":      schema.StringAttribute{Required: true},
		"text":     text(),
		"zone":     replaced(),
		"floating": floating(),
		"filled":   filled(),
		"color":    defaulted(),
		"made":     made(),
		"secret":   schema.StringAttribute{Optional: true, Sensitive: true},
		"list":     schema.ListAttribute{Optional: true, ElementType: types.StringType},
	}
}

// inner is what attributes() has, and another level.
func inner() schema.NestedAttributeObject {
	all := attributes()
	all["inner_list"] = schema.ListNestedAttribute{Optional: true,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes()}}
	all["inner_set"] = schema.SetNestedAttribute{Optional: true,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes()}}
	return schema.NestedAttributeObject{Attributes: all}
}

// plain has nothing that is computed.
func plain() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":    schema.StringAttribute{Required: true},
		"text":   text(),
		"zone":   replaced(),
		"secret": schema.StringAttribute{Optional: true, Sensitive: true},
		"list":   schema.ListAttribute{Optional: true, ElementType: types.StringType},
	}
}

// ---- Resources ----

// thing: attributes of every type and nesting.
func thingSchema() schema.Schema {
	all := common()
	for name, one := range map[string]schema.Attribute{
		"text":  text(),
		"zone":  replaced(),
		"color": defaulted(),
		"site": schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{
			stringplanmodifier.RequiresReplaceIfConfigured(), stringplanmodifier.UseStateForUnknown()}},
		"filled":        filled(),
		"floating":      floating(),
		"flag":          schema.BoolAttribute{Optional: true},
		"count_of":      schema.Int64Attribute{Optional: true},
		"ratio":         schema.Float64Attribute{Optional: true},
		"number":        schema.NumberAttribute{Optional: true},
		"secret":        schema.StringAttribute{Optional: true, Sensitive: true},
		"token":         schema.StringAttribute{Optional: true, WriteOnly: true},
		"token_version": schema.StringAttribute{Optional: true}, // a change of it replaces for the token
		"any":           schema.DynamicAttribute{Optional: true},
		"list":          schema.ListAttribute{Optional: true, ElementType: types.StringType},
		"fixed": schema.ListAttribute{Optional: true, ElementType: types.StringType,
			PlanModifiers: []planmodifier.List{listplanmodifier.RequiresReplace()}},
		"numbers": schema.ListAttribute{Optional: true, ElementType: types.NumberType},
		"set":     schema.SetAttribute{Optional: true, ElementType: types.StringType},
		"map":     schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"deep": schema.MapAttribute{Optional: true, ElementType: types.ListType{
			ElemType: types.SetType{ElemType: types.StringType}}},
		"object": schema.ObjectAttribute{Optional: true, AttributeTypes: map[string]attrType{
			"a": types.StringType, "b": types.NumberType, "c": types.BoolType}},
		"made_list": schema.ListAttribute{Computed: true, ElementType: types.StringType},
		"single":    schema.SingleNestedAttribute{Optional: true, Attributes: inner().Attributes},
		"list_of":   schema.ListNestedAttribute{Optional: true, NestedObject: inner()},
		"set_of":    schema.SetNestedAttribute{Optional: true, NestedObject: inner()},
		"map_of":    schema.MapNestedAttribute{Optional: true, NestedObject: inner()},
		"plain_set": schema.SetNestedAttribute{Optional: true,
			NestedObject: schema.NestedAttributeObject{Attributes: plain()}},
		"maybe_single": schema.SingleNestedAttribute{Optional: true, Computed: true, Attributes: attributes()},
		"maybe_list": schema.ListNestedAttribute{Optional: true, Computed: true,
			NestedObject: schema.NestedAttributeObject{Attributes: attributes()}},
	} {
		all[name] = one
	}
	return schema.Schema{Version: 2, Attributes: all}
}

// blocks: blocks of every nesting.
func blocksSchema() schema.Schema {
	one := schema.NestedBlockObject{Attributes: attributes()}
	deep := schema.NestedBlockObject{Attributes: attributes(), Blocks: map[string]schema.Block{
		"inner_list":   schema.ListNestedBlock{NestedObject: one},
		"inner_set":    schema.SetNestedBlock{NestedObject: one},
		"inner_single": schema.SingleNestedBlock{Attributes: withoutRequired()},
	}}
	all := common()
	all["text"] = text()
	return schema.Schema{Attributes: all, Blocks: map[string]schema.Block{
		"single_block": schema.SingleNestedBlock{Attributes: withoutRequired(),
			Blocks: map[string]schema.Block{"inner_list": schema.ListNestedBlock{NestedObject: one}}},
		"list_block":  schema.ListNestedBlock{NestedObject: deep},
		"set_block":   schema.SetNestedBlock{NestedObject: deep},
		"plain_block": schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: plain()}},
	}}
}

// withoutRequired: a single block that is absent may have nothing that is required.
func withoutRequired() map[string]schema.Attribute {
	all := attributes()
	all["key"] = text()
	return all
}
