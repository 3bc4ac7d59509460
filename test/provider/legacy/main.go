// terraform-provider-legacy: a provider for tests, by the SDK v2, over protocol 5, with what only
// that has: defaults and null that are one to it, blocks that stay empty, attributes as blocks,
// timeouts, plans that a function of the provider changes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"

	"kusionstack.io/operator/test/provider/backend"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderAddr: "registry.terraform.io/kusion/legacy",
		ProviderFunc: func() *schema.Provider {
			return &schema.Provider{
				Schema: map[string]*schema.Schema{
					"address": {Type: schema.TypeString, Required: true},
				},
				ConfigureContextFunc: func(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
					return backend.Address(d.Get("address").(string)), nil
				},
				ResourcesMap:   map[string]*schema.Resource{"legacy_thing": thing()},
				DataSourcesMap: map[string]*schema.Resource{"legacy_found": found()},
			}
		}})
}

// ---- The schema ----

func optional(of schema.ValueType) *schema.Schema { return &schema.Schema{Type: of, Optional: true} }

func replaced() *schema.Schema {
	return &schema.Schema{Type: schema.TypeString, Optional: true, ForceNew: true}
}

func texts(of schema.ValueType) *schema.Schema {
	return &schema.Schema{Type: of, Optional: true, Elem: &schema.Schema{Type: schema.TypeString}}
}

func block(of schema.ValueType, most int, inside map[string]*schema.Schema) *schema.Schema {
	return &schema.Schema{Type: of, Optional: true, MaxItems: most, Elem: &schema.Resource{Schema: inside}}
}

func inside() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"key":    {Type: schema.TypeString, Required: true},
		"text":   optional(schema.TypeString),
		"size":   {Type: schema.TypeInt, Optional: true, Default: 3},
		"flag":   optional(schema.TypeBool),
		"zone":   replaced(),
		"filled": {Type: schema.TypeString, Optional: true, Computed: true},
		"secret": {Type: schema.TypeString, Optional: true, Sensitive: true},
		"list":   texts(schema.TypeList),
	}
}

func thing() *schema.Resource {
	deep := inside()
	deep["inner_list"] = block(schema.TypeList, 0, inside())
	deep["inner_set"] = block(schema.TypeSet, 0, inside())
	as_blocks := block(schema.TypeList, 0, map[string]*schema.Schema{
		"key": optional(schema.TypeString), "text": optional(schema.TypeString)})
	as_blocks.Computed, as_blocks.ConfigMode = true, schema.SchemaConfigModeAttr
	limit := time.Minute
	return &schema.Resource{
		CreateContext: create, ReadContext: read, UpdateContext: update, DeleteContext: remove,
		CustomizeDiff: customize,
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Timeouts:      &schema.ResourceTimeout{Create: &limit, Update: &limit},
		Schema: map[string]*schema.Schema{
			"name":    {Type: schema.TypeString, Required: true, ForceNew: true},
			"serial":  {Type: schema.TypeInt, Computed: true}, // customize()
			"made":    {Type: schema.TypeString, Computed: true},
			"fail_on": texts(schema.TypeSet), // backend.Knobs
			"delay":   optional(schema.TypeString),
			"text":    optional(schema.TypeString),
			"size":    optional(schema.TypeInt),
			"ratio":   optional(schema.TypeFloat),
			"flag":    optional(schema.TypeBool),
			"color":   {Type: schema.TypeString, Optional: true, Default: "blue"},
			"on":      {Type: schema.TypeBool, Optional: true, Default: true},
			"filled":  {Type: schema.TypeString, Optional: true, Computed: true},
			"zone":    replaced(),
			"secret":  {Type: schema.TypeString, Optional: true, Sensitive: true},
			"token":   {Type: schema.TypeString, Optional: true, WriteOnly: true},
			"lower": {Type: schema.TypeString, Optional: true, // a change of the case is none
				DiffSuppressFunc: func(_, before, after string, _ *schema.ResourceData) bool {
					return len(before) == len(after) && fold(before) == fold(after)
				}},
			"folded": {Type: schema.TypeString, Optional: true, // State has it in another form
				StateFunc: func(value any) string { return fold(value.(string)) }},
			"list":   texts(schema.TypeList),
			"set":    texts(schema.TypeSet),
			"map":    texts(schema.TypeMap),
			"fixed":  {Type: schema.TypeSet, Optional: true, ForceNew: true, Elem: &schema.Schema{Type: schema.TypeInt}},
			"single": block(schema.TypeList, 1, deep),
			"blocks": block(schema.TypeList, 0, deep),
			"sets":   block(schema.TypeSet, 0, deep),
			"filled_blocks": {Type: schema.TypeList, Optional: true, Computed: true,
				Elem: &schema.Resource{Schema: inside()}},
			"as_blocks": as_blocks,
		},
	}
}

func fold(text string) string {
	folded := []byte(text)
	for i, c := range folded {
		if 'A' <= c && c <= 'Z' {
			folded[i] = c + 'a' - 'A'
		}
	}
	return string(folded)
}

// ---- Values ----

func plain(value any) any {
	switch value := value.(type) {
	case *schema.Set:
		return plain(value.List())
	case []any:
		all := make([]any, len(value))
		for i, one := range value {
			all[i] = plain(one)
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name, one := range value {
			all[name] = plain(one)
		}
		return all
	}
	return value
}

// fill makes up what is empty and called "filled".
func fill(value any, serial int) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			fill(one, serial)
		}
	case map[string]any:
		if value["filled"] == "" {
			value["filled"] = fmt.Sprintf("filled-%d", serial)
		}
		for _, one := range value {
			fill(one, serial)
		}
	}
}

func objectOf(d *schema.ResourceData, serial int) backend.Object {
	all := map[string]any{}
	for name := range thing().Schema {
		all[name] = plain(d.Get(name))
	}
	fill(all, serial)
	all["serial"], all["made"] = serial, fmt.Sprintf("made-%d", serial)
	token, _ := d.GetRawConfigAt(cty.GetAttrPath("token"))
	if all["token"] = nil; token.IsKnown() && !token.IsNull() {
		all["token"] = token.AsString()
	}
	return all
}

// integers: JSON's numbers as the SDK takes them.
func integers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := strconv.Atoi(value.String()); err == nil {
			return whole
		}
		number, _ := value.Float64()
		return number
	case []any:
		for i := range value {
			value[i] = integers(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = integers(value[name])
		}
	}
	return value
}

func setAll(d *schema.ResourceData, object backend.Object) diag.Diagnostics {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if name == "token" {
			continue
		}
		value := integers(object[name])
		if number, is := value.(int); is && name == "ratio" {
			value = float64(number)
		}
		if err := d.Set(name, value); err != nil {
			return diag.FromErr(fmt.Errorf("%s: %w", name, err))
		}
	}
	return nil
}

// ---- Calls ----

func knobs(d interface{ Get(string) any }) backend.Knobs {
	knobs := backend.Knobs{Delay: d.Get("delay").(string)}
	for _, one := range d.Get("fail_on").(*schema.Set).List() {
		knobs.FailOn = append(knobs.FailOn, one.(string))
	}
	told := map[string]any{}
	for name := range thing().Schema {
		told[name] = plain(d.Get(name))
	}
	knobs.Tell(told)
	return knobs
}

// customize: each change makes a new serial, and a size of 13 cannot be left.
func customize(_ context.Context, d *schema.ResourceDiff, _ any) error {
	if err := knobs(d).Fail("plan"); err != nil {
		return err
	}
	if d.Id() == "" || len(d.GetChangedKeysPrefix("")) == 0 {
		return nil
	}
	if before, _ := d.GetChange("size"); before == 13 && d.HasChange("size") {
		if err := d.ForceNew("size"); err != nil {
			return err
		}
	}
	if err := d.SetNewComputed("made"); err != nil {
		return err
	}
	return d.SetNewComputed("serial")
}

func create(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	knobs := knobs(d)
	if err := knobs.Begin("create"); err != nil {
		return diag.FromErr(err)
	}
	id, err := meta.(backend.Address).Create("legacy", d.Get("name").(string), objectOf(d, 1))
	if err != nil {
		return diag.FromErr(err)
	}
	d.SetId(id)
	if err := knobs.Fail("create_half"); err != nil {
		return diag.FromErr(err)
	}
	return find(d, meta)
}

func find(d *schema.ResourceData, meta any) diag.Diagnostics {
	object, err := meta.(backend.Address).Get(d.Id())
	if err != nil {
		return diag.FromErr(err)
	}
	if object == nil {
		d.SetId("")
		return nil
	}
	return setAll(d, object)
}

func read(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	if err := knobs(d).Fail("read"); err != nil {
		return diag.FromErr(err)
	}
	return find(d, meta)
}

func update(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	knobs := knobs(d)
	if err := knobs.Begin("update"); err != nil {
		d.Partial(true) // State keeps what was there before
		return diag.FromErr(err)
	}
	before, _ := d.GetChange("serial")
	if err := meta.(backend.Address).Put(d.Id(), objectOf(d, before.(int)+1)); err != nil {
		return diag.FromErr(err)
	}
	if err := knobs.Fail("update_half"); err != nil {
		return diag.FromErr(err)
	}
	return find(d, meta)
}

func remove(_ context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	if err := knobs(d).Begin("delete"); err != nil {
		return diag.FromErr(err)
	}
	return diag.FromErr(meta.(backend.Address).Delete(d.Id()))
}
