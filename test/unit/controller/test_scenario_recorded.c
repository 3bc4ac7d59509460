/* Where the Spec of a revision is recorded, in its Release or as a document, and what is done if
 * somebody removes or changes it. */
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "test/unit/controller/scene.h"

#define WEB       SPECS "/web"
#define UNDO      RELEASES "/undo"
#define DOCUMENTS STATES "?labelSelector=api.kusion.io/document=spec"
#define FIRST     RELEASES "/web-1"
#define LONG      5000 /* bytes: more than a Release has itself */

/* What a Spec is made of besides data.x of ConfigMap "a". */
struct form {
    const char *fields;
    bool is_long;
    unsigned documents; /* after two revisions */
};

static const struct form in_release = {"", false, 0};
static const struct form forms[] = {
    {"", false, 0},
    {"", true, 2},
    {"\"context\":{\"region\":\"eu\"},", false, 2}, /* may hold secrets */
};

static void apply(struct scene *scene, const struct form *form, unsigned x)
{
    _cleanup_free_ char *padding = str_printf("%*s", form->is_long ? LONG : 1, "");
    _cleanup_free_ char *resource = str_printf(
        "{\"id\":\"" CONFIGMAP_ID("a") "\",\"type\":\"Kubernetes\",\"attributes\":"
                                       "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                                       "\"metadata\":{\"name\":\"a\",\"namespace\":\"team\"},"
                                       "\"data\":{\"x\":\"%u\",\"padding\":\"%s\"}}}",
        x, padding);

    scene_spec(scene, "web", form->fields, resource);
    scene_expect_ready(scene, "web", "True", "ReconciliationSucceeded");
}

static void begin(struct scene *scene, const struct form *form)
{
    *scene = (struct scene){0};
    scene_begin(scene);
    apply(scene, form, 1);
    apply(scene, form, 2);
    scene_expect_quiet(scene);
}

static void request_rollback(struct scene *scene)
{
    api_server_create(scene->server,
                      "{\"apiVersion\":\"api.kusion.io/v1\",\"kind\":\"Release\",\"metadata\":"
                      "{\"name\":\"undo\",\"namespace\":\"team\"},\"spec\":{\"specRef\":"
                      "{\"name\":\"web\"},\"operation\":\"Rollback\"}}");
}

static size_t resources_in(struct scene *scene, const char *release)
{
    _cleanup_value_ const struct value *object = api_server_get(scene->server, release);

    return value_count(value_path(object, "spec", "resources", NULL));
}

static void is_kept_in_the_release_or_beside_it(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
        struct scene scene;

        begin(&scene, &forms[i]);
        EXPECT_INT(api_server_size(scene.server, DOCUMENTS), forms[i].documents, "documents");
        EXPECT_INT(resources_in(&scene, FIRST), !forms[i].documents, "in the Release");
        request_rollback(&scene);
        scene_expect_ready(&scene, "web", "False", "RolledBack");
        scene_expect_quiet(&scene);
        EXPECT_DATA(&scene, "a", "1");
        EXPECT_INT(api_server_size(scene.server, DOCUMENTS),
                   forms[i].documents ? forms[i].documents : 1, "what is in force is a document");
        EXPECT_INT(resources_in(&scene, RELEASES "/web-3"), 0, "the Rollback's Release names it");
        scene_end(&scene);
    }
}

/* ---- Not there any more ---- */

static void remove_documents(struct scene *scene)
{
    scene_remove_states(scene, DOCUMENTS);
}

static void remove_release(struct scene *scene)
{
    api_server_delete(scene->server, FIRST);
}

/* As a person would who may write Releases, but not the Spec. */
static void forge_resources(struct scene *scene)
{
    api_server_edit(scene->server, FIRST,
                    "{\"spec\":{\"resources\":[" CONFIGMAP("forged", "1") "]}}");
}

/* The digest of another Spec's Release comes with its resources. */
static void take_another_specs(struct scene *scene)
{
    _cleanup_value_ const struct value *other = NULL;
    _cleanup_free_ char *patch = NULL;
    _cleanup_buf_ struct buf text = BUF_INIT;

    scene_spec(scene, "other", "", CONFIGMAP("forged", "1"));
    scene_expect_ready(scene, "other", "True", NULL);
    other = api_server_get(scene->server, RELEASES "/other-1");
    patch =
        str_printf("{\"metadata\":{\"annotations\":{\"api.kusion.io/resources-digest\":\"%s\"}},"
                   "\"spec\":{\"resources\":[" CONFIGMAP("forged", "1") "]}}",
                   value_string(value_path(other, "metadata", "annotations",
                                           "api.kusion.io/resources-digest", NULL)));
    api_server_edit(scene->server, FIRST, patch);
}

/* The Rollback is refused, and the Spec stays in force. */
static void is_gone_or_damaged(void)
{
    static const struct {
        const struct form *form;
        void (*damage)(struct scene *scene);
        const char *says;
    } rows[] = {
        {&forms[1], remove_documents, "the Spec of revision 1 is not there any more"},
        {&forms[2], remove_documents, "the Spec of revision 1 is not there any more"},
        {&in_release, remove_release, "no earlier revision succeeded"},
        {&in_release, forge_resources, "the Spec of revision 1 is not there any more"},
        {&in_release, take_another_specs, "the Spec of revision 1 is not there any more"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *undo = NULL;
        const struct value *ready;
        struct scene scene;

        begin(&scene, rows[i].form);
        rows[i].damage(&scene);
        request_rollback(&scene);
        for (unsigned n = 0; n < 40 && !value_path(undo, "status", "conditions", NULL); n++) {
            scene_expect_quiet(&scene);
            value_unref(undo);
            undo = api_server_get(scene.server, UNDO);
        }
        ready = value_at(value_path(undo, "status", "conditions", NULL), 0);
        EXPECT_STR(value_get_string(ready, "reason"), "RevisionNotFound", "refused");
        EXPECT(strstr(value_get_string(ready, "message"), rows[i].says), rows[i].says);
        scene_ask(&scene, "web");
        scene_expect_handled(&scene, "web");
        scene_expect_ready(&scene, "web", "True", "ReconciliationSucceeded");
        EXPECT_DATA(&scene, "a", "2");
        scene_end(&scene);
    }
}

/* What is in force does not need the Release from which it came. */
static void the_release_goes_while_it_is_in_force(void)
{
    struct scene scene;

    begin(&scene, &in_release);
    request_rollback(&scene);
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    scene_expect_quiet(&scene);
    remove_release(&scene);
    scene_kill(&scene);
    api_server_delete(scene.server, CONFIGMAPS "/a");
    scene_start(&scene);
    scene_expect_there(&scene, CONFIGMAPS "/a");
    EXPECT_DATA(&scene, "a", "1");
    scene_expect_ready(&scene, "web", "False", "RolledBack");
    scene_end(&scene);
}

/* ---- Too many ---- */

/* Somebody deletes each Release, so that none names the document any more. */
static void documents_do_not_pile_up(void)
{
    const struct form form = {"\"revisionHistoryLimit\":2,", true, 0};
    struct scene scene = {0};
    size_t most = 0;

    scene_begin(&scene);
    for (unsigned n = 1; n <= 10; n++) {
        _cleanup_free_ char *release = str_printf(RELEASES "/web-%u", n);
        size_t size;

        apply(&scene, &form, n);
        scene_expect_quiet(&scene);
        api_server_delete(scene.server, release);
        size = api_server_size(scene.server, DOCUMENTS);
        most = size > most ? size : most;
    }
    EXPECT(most <= 4, "as many as are kept, and as were made since");
    scene_end(&scene);
}

SUITE(scenario_recorded, TEST(is_kept_in_the_release_or_beside_it), TEST(is_gone_or_damaged),
      TEST(the_release_goes_while_it_is_in_force), TEST(documents_do_not_pile_up))
