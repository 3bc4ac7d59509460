#include "runtimes/kubernetes/objects/relate.h"

#include "engine/base/mem.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

#define OBJECT(version, kind, metadata) \
    "{\"apiVersion\":\"" version "\",\"kind\":\"" kind "\",\"metadata\":{" metadata "}}"
#define NAME(name) "\"name\":\"" name "\""
#define IN(space)  ",\"namespace\":\"" space "\""
#define NAMESPACE  OBJECT("v1", "Namespace", NAME("demo"))
#define MAP        OBJECT("v1", "ConfigMap", NAME("a") IN("demo"))
#define DEFINITION(version)                                                                 \
    "{\"apiVersion\":\"apiextensions.k8s.io/" version                                       \
    "\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"widgets.example\"}," \
    "\"spec\":{\"group\":\"example.io\",\"names\":{\"kind\":\"Widget\"}}}"
#define WIDGET OBJECT("example.io/v1beta1", "Widget", NAME("w") IN("demo"))
#define RBAC   "rbac.authorization.k8s.io/v1"
#define BINDING                                                                               \
    "{\"apiVersion\":\"" RBAC                                                                 \
    "\",\"kind\":\"RoleBinding\",\"metadata\":{\"name\":\"b\",\"namespace\":\"demo\"},"       \
    "\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"robot\",\"namespace\":\"team\"}]," \
    "\"roleRef\":{\"kind\":\"Role\",\"name\":\"r\"}}"

/* The relations among a JSON array of attributes: "1 in 0, 2 after 0; last 3 2". */
static char *related(const char *text, const char *account)
{
    _cleanup_value_ const struct value *all = NULL;
    _cleanup_value_ const struct value *identity =
        account ? value_pack("{s:s}", "serviceAccountName", account) : NULL;
    const struct runtime_scope scope = {.key = {"team", "s"}, .identity = identity};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    struct runtime_target targets[8] = {0};
    struct buf shown;
    size_t n;

    buf_init(&shown, 0);
    EXPECT_INT(json_read_str(text, &all, NULL), 0, text);
    n = value_count(all);
    for (size_t i = 0; i < n; i++)
        targets[i].attributes = value_is(value_at(all, i), VALUE_OBJECT) ? value_at(all, i) : NULL;
    relations_init(&relations, n);
    EXPECT_INT(kube_relate(NULL, &scope, targets, n, &relations, NULL), 0, text);
    for (size_t i = 0; i < relations.n_items; i++)
        buf_printf(&shown, "%s%u %s %u", i ? ", " : "", relations.items[i].node,
                   relations.items[i].kind == RELATION_IN ? "in" : "after",
                   relations.items[i].other);
    for (uint32_t place = 1; place <= n; place++)
        for (size_t i = 0; i < n; i++)
            if (relations.last[i] == place)
                buf_printf(&shown, "%s%zu", place == 1 ? "; last " : " ", i);
    return buf_take(&shown);
}

static void knows_what_the_api_demands(void)
{
    static const struct {
        const char *note, *objects, *related;
    } rows[] = {
        {"nothing", "[]", ""},
        {"no objects", "[null,{},{\"kind\":\"Namespace\"}]", ""},
        {"a Namespace and a map", "[" MAP "," NAMESPACE "]", "0 in 1"},
        {"another namespace's",
         "[" OBJECT("v1", "ConfigMap", NAME("a") IN("other")) "," NAMESPACE "]", ""},
        {"an object that has no namespace of its own",
         "[" NAMESPACE "," OBJECT("v1", "ConfigMap", NAME("a")) "]", ""},
        {"a Namespace lives in none, whatever its metadata say",
         "[" OBJECT("v1", "Namespace", NAME("demo") IN("demo")) "]", ""},
        {"another group's Namespace", "[" OBJECT("e/v1", "Namespace", NAME("demo")) "," MAP "]",
         ""},
        {"what is of the cluster is in no Namespace, and made after it",
         "[" NAMESPACE "," OBJECT(RBAC, "ClusterRole", NAME("r") IN("demo")) "]", "1 after 0"},
        {"a definition and what it defines", "[" DEFINITION("v1") "," WIDGET "]", "1 in 0"},
        {"both", "[" WIDGET "," DEFINITION("v1") "," NAMESPACE "]", "0 in 2, 0 in 1"},
        {"another group's Widget",
         "[" DEFINITION("v1") "," OBJECT("example.org/v1", "Widget", NAME("w")) "]", ""},
        {"one object under two ids: its first",
         "[" DEFINITION("v1") "," WIDGET "," DEFINITION("v1beta1") "]", "1 in 0"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *found = related(rows[i].objects, "robot");

        EXPECT_STR(found, rows[i].related, rows[i].note);
    }
}

/* They are in their Namespace all the same, and go with it. */
static void puts_the_accounts_rights_last(void)
{
    static const char objects[] =
        "[" NAMESPACE "," BINDING "," MAP "," OBJECT("v1", "ServiceAccount", NAME("robot")) "]";
    _cleanup_free_ char *found = related(objects, "robot"), *without = related(objects, NULL);

    EXPECT_STR(found, "1 in 0, 2 in 0; last 3 1", "the account, then the binding");
    EXPECT_STR(without, "1 in 0, 2 in 0", "as the controller itself");
}

/* What leaves is named by what State has of it. */
static void relates_what_leaves(void)
{
    const struct runtime_scope scope = {.key = {"team", "s"}};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    _cleanup_value_ const struct value *all = NULL;
    struct record records[2] = {0};
    struct runtime_target targets[2] = {{.prior = &records[0]}, {.prior = &records[1]}};

    EXPECT_INT(json_read_str("[" MAP "," NAMESPACE "]", &all, NULL), 0, "good");
    for (size_t i = 0; i < 2; i++)
        records[i].attributes = value_at(all, i);
    relations_init(&relations, 2);
    EXPECT_INT(kube_relate(NULL, &scope, targets, 2, &relations, NULL), 0, "good");
    EXPECT_INT(relations.n_items, 1, "the map is in the Namespace");
    EXPECT(relations.ranks[1] < relations.ranks[0], "Namespace, map");
}

static void ranks_by_kind(void)
{
    _cleanup_value_ const struct value *all = NULL;
    const struct runtime_scope scope = {.key = {"team", "s"}};
    _cleanup_(relations_done) struct relations relations = RELATIONS_INIT;
    struct runtime_target targets[4] = {0};

    EXPECT_INT(json_read_str("[" WIDGET "," MAP "," NAMESPACE "," DEFINITION("v1") "]", &all, NULL),
               0, "good");
    for (size_t i = 0; i < 4; i++)
        targets[i].attributes = value_at(all, i);
    relations_init(&relations, 4);
    EXPECT_INT(kube_relate(NULL, &scope, targets, 4, &relations, NULL), 0, "good");
    EXPECT(relations.ranks[2] < relations.ranks[3] && relations.ranks[3] < relations.ranks[1] &&
               relations.ranks[1] < relations.ranks[0],
           "Namespace, definition, map, widget");
}

SUITE(relate, TEST(knows_what_the_api_demands), TEST(puts_the_accounts_rights_last),
      TEST(relates_what_leaves), TEST(ranks_by_kind))
