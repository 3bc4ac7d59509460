package main

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"kusionstack.io/operator/test/provider/backend"
)

// found is the data source: an object of the back end, by its id, whoever made it.
func found() *schema.Resource {
	limit := time.Minute
	made := func(of schema.ValueType) *schema.Schema { return &schema.Schema{Type: of, Computed: true} }
	texts := func(of schema.ValueType) *schema.Schema {
		return &schema.Schema{Type: of, Computed: true, Elem: &schema.Schema{Type: schema.TypeString}}
	}
	secret := made(schema.TypeString)
	secret.Sensitive = true
	return &schema.Resource{
		ReadContext: readFound,
		Timeouts:    &schema.ResourceTimeout{Read: &limit},
		Schema: map[string]*schema.Schema{
			"of":      {Type: schema.TypeString, Required: true},
			"fail_on": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}},
			"delay":   {Type: schema.TypeString, Optional: true},
			"label":   {Type: schema.TypeString, Optional: true, Computed: true},
			"text":    made(schema.TypeString),
			"size":    made(schema.TypeInt),
			"secret":  secret,
			"set":     texts(schema.TypeSet),
			"map":     texts(schema.TypeMap),
			"inner": {Type: schema.TypeList, Computed: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"text": made(schema.TypeString), "secret": secret}}},
		},
	}
}

func readFound(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	if err := knobs(d).Begin("read"); err != nil {
		return diag.FromErr(err)
	}
	object, err := meta.(backend.Address).Get(d.Get("of").(string))
	if err != nil {
		return diag.FromErr(err)
	}
	if object == nil {
		return diag.Errorf("there is no object %s", d.Get("of"))
	}
	d.SetId(d.Get("of").(string))
	text, _ := object["text"].(string)
	secret, _ := object["secret"].(string)
	all := backend.Object{"text": text, "secret": secret, "size": object["size"],
		"set": []any{"b", text, "a", "b"}, "map": map[string]any{"text": text},
		"inner": []any{map[string]any{"text": text, "secret": secret}}}
	if d.Get("label") == "" {
		all["label"] = object["name"]
	}
	return setAll(d, all)
}
