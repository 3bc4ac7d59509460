#include "engine/base/str.h"
#include "engine/spec/spec.h"
#include "engine/value/json.h"
#include "runtimes/terraform/runtime.h"
#include "test/unit/suite.h"

/* A resource's id, its extensions and attributes, and the problems, joined by " | ". */
static const struct {
    const char *id, *extensions, *attributes, *problems;
} table[] = {
    {"hashicorp:random:random_id:a", "{}", "{}", ""},
    {"anything", "{\"provider\":\"hashicorp/random/3.6.0\",\"resourceType\":\"random_id\"}", "{}",
     ""},
    {"a:b", "{}", "{}",
     "extensions.provider: a provider is required, such as \"hashicorp/random\" | "
     "extensions.resourceType: a type is required, such as \"random_password\""},
    {"hashicorp:random:random_id:a", "{\"provider\":\"random\"}", "{}",
     "extensions.provider: \"random\" is not a provider, as \"hashicorp/random\" and "
     "\"registry.terraform.io/hashicorp/random/3.7.2\" are"},
    {"hashicorp:aws:aws_instance:a", "{}", "{}",
     "extensions.provider: the provider hashicorp/aws is not one that the operator may run; its "
     "flag --terraform-provider allows hashicorp/random"},
    {"hashicorp:random:random_id:a", "{\"provider\":7}", "{}",
     "extensions.provider: must be a string, and is of type number"},
    {"hashicorp:random:random_id:a",
     "{\"resourceType\":\"$kusion_path.hashicorp:random:random_id:a.x\"}", "{}",
     "extensions.resourceType: must be written out, and cannot be a reference | "
     "extensions.resourceType: a resource cannot depend on itself"},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/not-created\":3}", "{}", ""},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/not-created\":\"yes\"}", "{}",
     "extensions[kusionstack.io/not-created]: must be the number of the revision that the "
     "condition "
     "names"},
    {"hashicorp:random:random_id:a", "{\"lifecycle\":{\"preventDestroy\":1}}", "{}",
     "extensions.lifecycle: preventDestroy: must be true or false"},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/import-id\":\"x\"}", "{}", ""},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/importId\":\"x\"}", "{}",
     "extensions[kusionstack.io/importId]: means nothing for a Terraform resource; did you mean "
     "\"kusionstack.io/import-id\"?"},
    {"hashicorp:random:random_id:a", "{\"healthPolicy\":{}}", "{}",
     "extensions.healthPolicy: means nothing for a Terraform resource"},
    {"hashicorp:random:random_id:a", "{\"providerMeta\":{},\"lifecycle\":{}}", "{}", ""},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/import-id\":7}", "{}",
     "extensions[kusionstack.io/import-id]: must be a string, and is of type number"},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/import-id\":\"\"}", "{}",
     "extensions[kusionstack.io/import-id]: must not be empty"},
    {"hashicorp:random:random_id:a",
     "{\"kusionstack.io/state-address\":\"module.m.random_id.b[0]\"}", "{}", ""},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/state-address\":\"data.random_id.b\"}",
     "{}",
     "extensions[kusionstack.io/state-address]: \"data.random_id.b\" is not the address of a "
     "resource "
     "in Terraform's state, as \"random_password.db\" and \"module.a.random_password.db[0]\" are"},
    {"hashicorp:random:random_id:a",
     "{\"kusionstack.io/state-address\":\"$kusion_path.hashicorp:random:random_id:a.x\"}", "{}",
     "extensions[kusionstack.io/state-address]: must be written out, and cannot be a reference | "
     "extensions[kusionstack.io/state-address]: a resource cannot depend on itself"},
    {"hashicorp:random:random_id:a",
     "{\"kusionstack.io/state-address\":\"random_id.b\",\"kusionstack.io/import-id\":\"x\"}", "{}",
     "extensions[kusionstack.io/state-address]: cannot be there beside kusionstack.io/import-id: "
     "the "
     "object is taken over from the one or by the other"},
    {"hashicorp:random:data.random_id:a", "{}", "{}", ""},
    {"hashicorp:random:data.random_id:a",
     "{\"lifecycle\":{\"preventDestroy\":true},\"kusionstack.io/import-id\":\"x\","
     "\"kusionstack.io/moved-from\":\"y\"}",
     "{}",
     "extensions.lifecycle: means nothing for a data source, which is only read: remove it | "
     "extensions[kusionstack.io/import-id]: means nothing for a data source, which is only read: "
     "remove it | extensions[kusionstack.io/moved-from]: means nothing for a data source, which is "
     "only read: remove it"},
    {"a:b", "{\"provider\":\"hashicorp/random\",\"resourceType\":\"data.\"}", "{}",
     "extensions.resourceType: the type of a data source is required after \"data.\", as in "
     "\"data.aws_ami\""},
    {"hashicorp:random:ephemeral.random_password:a", "{}", "{}",
     "extensions.resourceType: ephemeral resources are not supported: use the resource itself, "
     "whose "
     "secret values State keeps in Secrets, or a Secret that the cluster has"},
    {"hashicorp:random:random_id:a", "{}", "{\"l\":[{\"x\":\"a ${b}\"}],\"d\":\"$HOME {}\"}",
     "attributes.l[0].x: has \"${\": expressions of Terraform are not evaluated; to use a value of "
     "another resource, make the whole string a reference, $kusion_path.ID.PATH (one to a "
     "ConfigMap, if "
     "these characters themselves are meant)"},
};

static const struct value *spec_of(const char *id, const char *extensions, const char *attributes)
{
    const struct value *e = NULL, *a = NULL, *spec;

    CU_ASSERT_FATAL(json_read_str(extensions, &e, NULL) == 0);
    CU_ASSERT_FATAL(json_read_str(attributes, &a, NULL) == 0);
    spec = value_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{s:[{s:s, s:s, s:V, s:V}]}}", "apiVersion",
                      "api.kusion.io/v1", "kind", "Spec", "metadata", "name", "s", "namespace", "n",
                      "uid", "u", "spec", "resources", "id", id, "type", "Terraform", "attributes",
                      a, "extensions", e);
    return spec;
}

static char *problems_of(const struct spec_options *options, const struct value *object)
{
    struct problems problems = PROBLEMS_INIT;
    struct spec *spec = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    spec_parse(object, options, &spec, &problems, NULL);
    for (size_t i = 0; i < problems.count; i++)
        buf_printf(&text, "%s%s: %s", i ? " | " : "",
                   problems.items[i].field + strlen("resources[0]."), problems.items[i].message);
    spec_free(spec);
    problems_done(&problems);
    return buf_take(&text);
}

/* Two resources under one address, of which the first or the second says its own. */
static void check_two(const struct spec_options *options)
{
    static const char one[] = "{\"id\":\"hashicorp:random:random_id:a\",\"type\":\"Terraform\","
                              "\"attributes\":{}}";
    static const char other[] =
        "{\"id\":\"hashicorp:random:random_id:b\",\"type\":\"Terraform\",\"attributes\":{},"
        "\"extensions\":{\"kusionstack.io/state-address\":\"random_id.a\"}}";
    const char *const rows[][2] = {{one, other}, {other, one}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text =
            str_printf("{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\",\"uid\":\"u\"},\"spec\":{"
                       "\"resources\":[%s,%s]}}",
                       rows[i][0], rows[i][1]);
        _cleanup_value_ const struct value *object = NULL;
        _cleanup_free_ char *found = NULL;

        CU_ASSERT_FATAL(json_read_str(text, &object, NULL) == 0);
        found = problems_of(options, object);
        EXPECT(found && strstr(found, i ? "the resource \"hashicorp:random:random_id:b\" has the "
                                          "same address in Terraform's state, random_id.a"
                                        : "the resource \"hashicorp:random:random_id:a\" has the "
                                          "same address in Terraform's state, random_id.a"),
               found);
    }
}

static void resources_are_checked(void)
{
    struct source allowed = {0};
    struct runtime *runtime;
    struct spec_type type;

    CU_ASSERT_FATAL(source_read("hashicorp/random", '@', &allowed, NULL) == 0);
    runtime = tf_runtime_new(&(struct tf_runtime_config){
        .finder.mirror = "/nowhere", .allowed = &allowed, .n_allowed = 1});
    type = (struct spec_type){.name = "Terraform", .checks = runtime->ops->check, .arg = runtime};
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *object =
            spec_of(table[i].id, table[i].extensions, table[i].attributes);
        _cleanup_free_ char *found =
            problems_of(&(struct spec_options){.types = &type, .n_types = 1}, object);

        EXPECT_STR(found, table[i].problems, table[i].extensions);
    }
    check_two(&(struct spec_options){.types = &type, .n_types = 1});
    runtime->ops->free(runtime);
    source_done(&allowed);
}

static void without_providers_none_is_allowed(void)
{
    struct runtime *runtime =
        tf_runtime_new(&(struct tf_runtime_config){.finder.mirror = "/nowhere"});
    const struct spec_type type = {
        .name = "Terraform", .checks = runtime->ops->check, .arg = runtime};
    _cleanup_value_ const struct value *object =
        spec_of("hashicorp:random:random_id:a", "{}", "{}");
    _cleanup_free_ char *found =
        problems_of(&(struct spec_options){.types = &type, .n_types = 1}, object);

    EXPECT(str_has_suffix(found, "; its flag --terraform-provider allows none"), found);
    runtime->ops->free(runtime);
}

SUITE(terraform_check, TEST(resources_are_checked), TEST(without_providers_none_is_allowed))
