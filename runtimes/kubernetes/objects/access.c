#include "runtimes/kubernetes/objects/access.h"

#include "engine/base/arena.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"
#include "runtimes/kubernetes/objects/object_ref.h"

struct search {
    const struct access_account *account;
    struct strmap roles; /* "namespace/name" of Roles, "/name" of ClusterRoles that the bindings
                            refer to */
    struct arena arena;
};

const char *kube_service_account(const struct value *identity)
{
    return value_get_string(identity, "serviceAccountName");
}

static bool is_rbac(const struct object_ref *object, const char *kind)
{
    return object_ref_is(object, "rbac.authorization.k8s.io", kind);
}

static const char *namespace_of(const struct object_ref *object,
                                const struct access_account *account)
{
    return object->namespace_name ? object->namespace_name : account->namespace_name;
}

static bool is_account(const struct value *attributes, const struct access_account *account)
{
    struct object_ref object = object_ref_of(attributes);

    return account->name && object_ref_is(&object, "", "ServiceAccount") &&
           str_equal(object.name, account->name) &&
           str_equal(namespace_of(&object, account), account->namespace_name);
}

/* A binding may name the account as a ServiceAccount, as its user name, or by one of its groups. */
static bool names_account(struct search *search, const struct value *subject)
{
    const struct access_account *account = search->account;
    const char *kind = value_get_string(subject, "kind"), *name = value_get_string(subject, "name");

    if (str_equal(kind, "ServiceAccount"))
        return str_equal(name, account->name) &&
               str_equal(value_get_string(subject, "namespace"), account->namespace_name);
    if (str_equal(kind, "User"))
        return str_equal(name, arena_printf(&search->arena, "system:serviceaccount:%s:%s",
                                            account->namespace_name, account->name));
    return str_equal(kind, "Group") &&
           (str_equal(name, "system:authenticated") || str_equal(name, "system:serviceaccounts") ||
            str_equal(name, arena_printf(&search->arena, "system:serviceaccounts:%s",
                                         account->namespace_name)));
}

static bool binds_account(struct search *search, const struct object_ref *object,
                          const struct value *attributes)
{
    const struct value *subjects = value_get(attributes, "subjects");

    if (!is_rbac(object, "RoleBinding") && !is_rbac(object, "ClusterRoleBinding"))
        return false;
    for (size_t i = 0; i < value_count(subjects); i++)
        if (names_account(search, value_at(subjects, i)))
            return true;
    return false;
}

static void note_role(struct search *search, const struct object_ref *binding,
                      const struct value *attributes)
{
    const struct value *role = value_get(attributes, "roleRef");
    bool of_cluster = str_equal(value_get_string(role, "kind"), "ClusterRole");
    const char *name = value_get_string(role, "name");

    if (name)
        strmap_put(&search->roles,
                   arena_printf(&search->arena, "%s/%s",
                                of_cluster ? "" : namespace_of(binding, search->account), name),
                   search);
}

static bool is_bound_role(struct search *search, const struct object_ref *object)
{
    bool of_cluster = is_rbac(object, "ClusterRole");

    if ((!of_cluster && !is_rbac(object, "Role")) || !object->name)
        return false;
    return strmap_get(&search->roles,
                      arena_printf(&search->arena, "%s/%s",
                                   of_cluster ? "" : namespace_of(object, search->account),
                                   object->name)) != NULL;
}

size_t access_find(const struct value *const *attributes, size_t n,
                   const struct access_account *account, uint32_t *ret_nodes)
{
    struct search search = {account, STRMAP_INIT, ARENA_INIT};
    size_t count = 0;

    if (!account->name)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (is_account(attributes[i], account))
            ret_nodes[count++] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        struct object_ref object = object_ref_of(attributes[i]);

        if (!binds_account(&search, &object, attributes[i]))
            continue;
        note_role(&search, &object, attributes[i]);
        ret_nodes[count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < n && search.roles.count; i++) {
        struct object_ref object = object_ref_of(attributes[i]);

        if (is_bound_role(&search, &object))
            ret_nodes[count++] = (uint32_t)i;
    }
    strmap_done(&search.roles);
    arena_done(&search.arena);
    return count;
}
