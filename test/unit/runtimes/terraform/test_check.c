#include "engine/base/json.h"
#include "engine/base/str.h"
#include "engine/spec/spec.h"
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
     "extensions.provider: the provider hashicorp/aws is not one that the operator may run: its "
     "flag "
     "--terraform-provider names those"},
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
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/import-id\":7}", "{}",
     "extensions[kusionstack.io/import-id]: must be a string, and is of type number"},
    {"hashicorp:random:random_id:a", "{\"kusionstack.io/import-id\":\"\"}", "{}",
     "extensions[kusionstack.io/import-id]: must not be empty"},
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

static void resources_are_checked(void)
{
    struct source allowed = {0};
    struct runtime *runtime;
    struct spec_type type;

    CU_ASSERT_FATAL(source_read("hashicorp/random", '@', &allowed, NULL) == 0);
    runtime = tf_runtime_new(
        &(struct tf_runtime_config){.mirror = "/nowhere", .allowed = &allowed, .n_allowed = 1});
    type = (struct spec_type){.name = "Terraform", .checks = runtime->ops->check, .arg = runtime};
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        _cleanup_value_ const struct value *object =
            spec_of(table[i].id, table[i].extensions, table[i].attributes);
        _cleanup_free_ char *found =
            problems_of(&(struct spec_options){.types = &type, .n_types = 1}, object);

        EXPECT_STR(found, table[i].problems, table[i].extensions);
    }
    runtime->ops->free(runtime);
    source_done(&allowed);
}

SUITE(terraform_check, TEST(resources_are_checked))
