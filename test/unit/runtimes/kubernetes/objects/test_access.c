#include "runtimes/kubernetes/objects/access.h"

#include "engine/base/cleanup.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

#define RBAC(kind, in, name, more)                                                          \
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"" kind "\",\"metadata\":{" \
    "\"name\":\"" name "\"" in "}" more "}"
#define IN(space)   ",\"namespace\":\"" space "\""
#define ROLE(in)    RBAC("Role", in, "rule", "")
#define TO(subject) ",\"roleRef\":{\"kind\":\"Role\",\"name\":\"rule\"},\"subjects\":[" subject "]"
#define TO_CLUSTER(subject) \
    ",\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"rule\"},\"subjects\":[" subject "]"
#define SUBJECT(kind, name, in) "{\"kind\":\"" kind "\",\"name\":\"" name "\"" in "}"
#define ROBOT                   SUBJECT("ServiceAccount", "robot", IN("team"))
#define ACCOUNT(version, in, name)                                                               \
    "{\"apiVersion\":\"" version "\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"" name \
    "\"" in "}}"
#define MAP "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"}}"

static const struct access_account robot = {"team", "robot"};

/* The objects of a JSON array, as "2 0". */
static char *found_in(const char *text, const struct access_account *account)
{
    _cleanup_value_ const struct value *all = NULL;
    const struct value *attributes[8];
    uint32_t nodes[8];
    size_t n, count;
    struct buf shown = BUF_INIT;

    EXPECT_INT(json_read_str(text, &all, NULL), 0, text);
    n = value_count(all);
    for (size_t i = 0; i < n; i++)
        attributes[i] = value_is(value_at(all, i), VALUE_OBJECT) ? value_at(all, i) : NULL;
    count = access_find(attributes, n, account, nodes);
    for (size_t i = 0; i < count; i++)
        buf_printf(&shown, "%s%u", i ? " " : "", nodes[i]);
    return buf_take(&shown);
}

static void finds_what_carries_rights(void)
{
    static const struct {
        const char *note, *objects, *found;
    } rows[] = {
        {"nothing", "[]", ""},
        {"no object", "[null,{}," MAP "]", ""},
        {"the account", "[" MAP "," ACCOUNT("v1", IN("team"), "robot") "]", "1"},
        {"in the Spec's namespace", "[" ACCOUNT("v1", "", "robot") "]", "0"},
        {"another account", "[" ACCOUNT("v1", "", "r2d2") "]", ""},
        {"of another namespace", "[" ACCOUNT("v1", IN("other"), "robot") "]", ""},
        {"of another group", "[" ACCOUNT("example.com/v1", "", "robot") "]", ""},
        {"a binding", "[" RBAC("RoleBinding", "", "b", TO(ROBOT)) "]", "0"},
        {"anywhere", "[" RBAC("RoleBinding", IN("other"), "b", TO(ROBOT)) "]", "0"},
        {"of the cluster", "[" RBAC("ClusterRoleBinding", "", "b", TO_CLUSTER(ROBOT)) "]", "0"},
        {"among subjects",
         "[" RBAC("RoleBinding", "", "b", TO(SUBJECT("User", "x", "") "," ROBOT)) "]", "0"},
        {"another's binding",
         "[" RBAC("RoleBinding", "", "b", TO(SUBJECT("ServiceAccount", "robot", IN("other")))) "]",
         ""},
        {"as a user",
         "[" RBAC("RoleBinding", "", "b",
                  TO(SUBJECT("User", "system:serviceaccount:team:robot", ""))) "]",
         "0"},
        {"as one of its namespace",
         "[" RBAC("RoleBinding", "", "b",
                  TO(SUBJECT("Group", "system:serviceaccounts:team", ""))) "]",
         "0"},
        {"as one of another's",
         "[" RBAC("RoleBinding", "", "b",
                  TO(SUBJECT("Group", "system:serviceaccounts:other", ""))) "]",
         ""},
        {"as any",
         "[" RBAC("RoleBinding", "", "b", TO(SUBJECT("Group", "system:serviceaccounts", ""))) "]",
         "0"},
        {"in that order",
         "[" ROLE("") "," RBAC("RoleBinding", "", "b", TO(ROBOT)) "," ACCOUNT("v1", "",
                                                                              "robot") "]",
         "2 1 0"},
        {"a role without a binding", "[" ROLE("") "," ACCOUNT("v1", "", "robot") "]", "1"},
        {"a role of the same name elsewhere",
         "[" ROLE(IN("other")) "," RBAC("RoleBinding", "", "b", TO(ROBOT)) "]", "1"},
        {"a role of the cluster, of the same name",
         "[" RBAC("ClusterRole", "", "rule", "") "," RBAC("RoleBinding", "", "b", TO(ROBOT)) "]",
         "1"},
        {"a role of the cluster",
         "[" RBAC("ClusterRole", "", "rule", "") "," RBAC("RoleBinding", "", "b",
                                                          TO_CLUSTER(ROBOT)) "]",
         "1 0"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *found = found_in(rows[i].objects, &robot);
        _cleanup_free_ char *without =
            found_in(rows[i].objects, &(struct access_account){"team", NULL});

        EXPECT_STR(found, rows[i].found, rows[i].note);
        EXPECT_STR(without, "", "no account, no rights of it");
    }
}

SUITE(access, TEST(finds_what_carries_rights))
