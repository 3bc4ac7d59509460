/* What WebDAV servers may answer, by a server of ours. */
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/webdav/private.h"
#include "test/unit/runtimes/chain/answers.h"
#include "test/unit/suite.h"

#define KEY "v1/state/t/w/~0000000000000001"

static const struct store_call plain;

struct scene {
    struct answers *answers;
    struct objects *objects;
    struct error error;
};

static void begin(struct scene *scene, const struct answer *table, size_t count)
{
    _cleanup_free_ char *place = NULL;

    *scene = (struct scene){.answers = answers_new(table, count)};
    place = str_printf("http://127.0.0.1:%d/a", answers_port(scene->answers));
    EXPECT_INT(webdav_objects_new(place, &scene->objects, &scene->error), 0, scene->error.message);
}

static void end(struct scene *scene)
{
    scene->objects->ops->free(scene->objects);
    answers_free(scene->answers);
}

static int create(struct scene *scene)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add_str(&bytes, "bytes");
    return scene->objects->ops->create(scene->objects, KEY, &bytes, &plain, &scene->error);
}

static int get(struct scene *scene)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    return scene->objects->ops->get(scene->objects, KEY, &bytes, &plain, &scene->error);
}

static int remove_it(struct scene *scene)
{
    return scene->objects->ops->delete (scene->objects, KEY, &plain, &scene->error);
}

static int on_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    (void)arg, (void)key, (void)modified, (void)error;
    return 0;
}

static int list(struct scene *scene)
{
    return scene->objects->ops->list(scene->objects, "v1/state/t/w/~", on_key, NULL, &plain,
                                     &scene->error);
}

static int list_all(struct scene *scene)
{
    return scene->objects->ops->list(scene->objects, "v1/", on_key, NULL, &plain, &scene->error);
}

static int prune(struct scene *scene)
{
    return scene->objects->ops->prune(scene->objects, "v1/state/", &plain, &scene->error);
}

#define A(status)          \
    {                      \
        status, NULL, NULL \
    }
#define FOLDER(path)                                                                            \
    "<response><href>" path "</href><propstat><prop><resourcetype><collection/></resourcetype>" \
    "</prop></propstat></response>"
#define LISTING(entries)                                                  \
    {                                                                     \
        207, NULL, "<multistatus>" FOLDER("/a/") entries "</multistatus>" \
    }
#define EMPTY LISTING("")
#define LOCKED                                           \
    {                                                    \
        200, "Lock-Token: <opaquelocktoken:1>\r\n", NULL \
    }
/* The folders above the key are made: they are there. */
#define PARENTS A(405), A(405), A(405), A(405)

static const struct {
    const char *note;
    int (*run)(struct scene *scene);
    struct answer table[16];
    size_t requests;
    int code;
    const char *reason;
} rows[] = {
    {"created", create, {A(201), A(201), A(201)}, 3, 0, NULL},
    {"it is there", create, {A(201), A(201), A(412), A(204)}, 4, ERR_EXISTS, NULL},
    {"the folders above are missing",
     create,
     {A(201), A(201), A(409), PARENTS, A(201)},
     8,
     0,
     NULL},
    {"Apache's 500 to one that lost",
     create,
     {A(201), A(201), A(500), PARENTS, A(500), A(207), A(207), A(204)},
     11,
     ERR_EXISTS,
     NULL},
    {"moved, in spite of what it said",
     create,
     {A(201), A(201), A(500), PARENTS, A(502), A(404), A(207), A(207), A(404)},
     12,
     0,
     NULL},
    {"another one's, and its own may not be seen",
     create,
     {A(201), A(201), A(403), A(404), A(207), A(207), A(403), A(403)},
     8,
     ERR_FORBIDDEN,
     "StoreRefused"},
    {"not moved at all",
     create,
     {A(201), A(201), A(403), A(207), A(404), A(204)},
     6,
     ERR_FORBIDDEN,
     "StoreRefused"},
    {"MOVE is not answered",
     create,
     {A(201), A(201), A(0), A(204)},
     4,
     ERR_UNAVAILABLE,
     "StoreInDoubt"},
    {"no user", create, {A(401), A(401)}, 2, ERR_FORBIDDEN, "StoreRefused"},
    {"the disk is full", create, {A(201), A(507), A(204)}, 3, ERR_UNAVAILABLE, "StoreFull"},
    {"larger than the server's limit",
     create,
     {A(201), A(413), A(204)},
     3,
     ERR_TOO_LARGE,
     "StoreFull"},
    {"the folder of all is missing",
     create,
     {A(409), A(404), A(404)},
     3,
     ERR_UNAVAILABLE,
     "StoreNotFound"},
    {"read", get, {{200, NULL, "x"}}, 1, 0, NULL},
    {"not there", get, {A(404), A(207)}, 2, ERR_NOT_FOUND, NULL},
    {"nor the folder of all", get, {A(404), A(404)}, 2, ERR_UNAVAILABLE, "StoreNotFound"},
    {"a server that ended the connection", get, {A(0), {200, NULL, "x"}}, 2, 0, NULL},
    {"and the next one, too", get, {A(0), A(0)}, 2, ERR_UNAVAILABLE, "StoreUnreachable"},
    {"it has too much to do", get, {A(503)}, 1, ERR_UNAVAILABLE, "StoreBusy"},
    {"it is somewhere else", get, {A(301)}, 1, ERR_INTERNAL, "UnexpectedAnswer"},
    {"an empty list", list, {A(404), A(207), A(404)}, 3, 0, NULL},
    {"a list that may not be seen",
     list,
     {A(404), A(207), A(403)},
     3,
     ERR_FORBIDDEN,
     "StoreRefused"},
    {"no list, and no folder", list, {A(404), A(404)}, 2, ERR_UNAVAILABLE, "StoreNotFound"},
    {"a list that is none", list, {{207, NULL, "<a/>"}}, 1, ERR_INTERNAL, "UnexpectedAnswer"},
    {"a list that is cut",
     list,
     {{207, NULL, "<multistatus>"}},
     1,
     ERR_INTERNAL,
     "UnexpectedAnswer"},
    {"folders that nest without end",
     list_all,
     {LISTING(FOLDER("/a/x/")), LISTING(FOLDER("/a/x/")), LISTING(FOLDER("/a/x/")),
      LISTING(FOLDER("/a/x/"))},
     4,
     ERR_INTERNAL,
     "UnexpectedAnswer"},
    {"a name that leads elsewhere",
     list_all,
     {LISTING(FOLDER("/a/..%2F..%2Fetc/"))},
     1,
     ERR_INTERNAL,
     "UnexpectedAnswer"},
    {"a MOVE of which a part failed",
     create,
     {A(201), A(201), A(207), A(207), A(404), A(204)},
     6,
     ERR_UNAVAILABLE,
     "StoreBusy"},
    {"the folder above is locked",
     create,
     {A(201), A(201), A(409), A(405), A(405), A(405), A(207), A(204)},
     8,
     ERR_UNAVAILABLE,
     "StoreBusy"},
    {"no folder is empty",
     prune,
     {LISTING(FOLDER("/a/t/")), LISTING(FOLDER("/a/t/w/")),
      LISTING(FOLDER("/a/t/w/~0000000000000001/"))},
     3,
     0,
     NULL},
    {"two folders are empty",
     prune,
     {LISTING(FOLDER("/a/t/")), LISTING(FOLDER("/a/t/w/")), EMPTY, LOCKED, EMPTY, A(204), LOCKED,
      EMPTY, A(204)},
     9,
     0,
     NULL},
    {"it is not empty any more",
     prune,
     {LISTING(FOLDER("/a/t/")), EMPTY, LOCKED, LISTING(FOLDER("/a/t/w/")), A(204)},
     5,
     0,
     NULL},
    {"its lock has ended",
     prune,
     {LISTING(FOLDER("/a/t/")), EMPTY, LOCKED, EMPTY, A(412), A(204)},
     6,
     ERR_INTERNAL,
     "UnexpectedAnswer"},
    {"a server without locks", prune, {LISTING(FOLDER("/a/t/")), EMPTY, A(405)}, 3, 0, NULL},
    {"deleted", remove_it, {A(201), A(204)}, 2, 0, NULL},
    {"nothing to delete", remove_it, {A(404), A(207)}, 2, 0, NULL},
    {"not allowed", remove_it, {A(403)}, 1, ERR_FORBIDDEN, "StoreRefused"},
};

static void understands_answers(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;

        begin(&scene, rows[i].table, rows[i].requests);
        EXPECT_INT(rows[i].run(&scene), rows[i].code, rows[i].note);
        EXPECT_INT(answers_count(scene.answers), rows[i].requests, rows[i].note);
        if (rows[i].reason)
            EXPECT_STR(scene.error.reason, rows[i].reason, rows[i].note);
        if (rows[i].code < 0 && rows[i].code != ERR_INTERNAL)
            EXPECT(strstr(scene.error.message, "http://127.0.0.1:") ||
                       strstr(scene.error.message, "127.0.0.1"),
                   rows[i].note);
        end(&scene);
    }
}

static void asks_for_a_move_that_replaces_nothing(void)
{
    static const struct answer table[] = {A(201), A(201), A(201)};
    struct scene scene;
    _cleanup_free_ char *destination = NULL;

    begin(&scene, table, 3);
    EXPECT_INT(create(&scene), 0, scene.error.message);
    destination =
        str_printf("Destination: http://127.0.0.1:%d/a/" KEY "/\r\n", answers_port(scene.answers));
    EXPECT(strstr(answers_request(scene.answers, 0), "MKCOL /a/unfinished/~"), "MKCOL");
    EXPECT(strstr(answers_request(scene.answers, 1), "/data HTTP/1.1\r\n"), "PUT");
    EXPECT(strstr(answers_request(scene.answers, 2), "Overwrite: F\r\n"), "Overwrite");
    EXPECT(strstr(answers_request(scene.answers, 2), destination), destination);
    end(&scene);
}

static void deletes_folders_by_their_lock(void)
{
    static const struct answer table[] = {LISTING(FOLDER("/a/t/")), EMPTY, LOCKED, EMPTY, A(204)};
    struct scene scene;
    _cleanup_free_ char *condition = NULL;

    begin(&scene, table, 5);
    EXPECT_INT(prune(&scene), 0, scene.error.message);
    condition = str_printf("If: <http://127.0.0.1:%d/a/v1/state/t/> (<opaquelocktoken:1>)\r\n",
                           answers_port(scene.answers));
    EXPECT(strstr(answers_request(scene.answers, 2), "LOCK /a/v1/state/t/ HTTP/1.1\r\n"), "LOCK");
    EXPECT(strstr(answers_request(scene.answers, 4), "DELETE /a/v1/state/t/ HTTP/1.1\r\n"),
           "DELETE");
    EXPECT(strstr(answers_request(scene.answers, 4), condition), condition);
    end(&scene);
}

static void refuses_places(void)
{
    static const char *const places[] = {
        "ftp://host/a",        "https://user:word@host/a",
        "https:///a",          "https://host/a?region=b",
        "https://host/a/../b", "host/a",
    };

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        struct objects *objects = NULL;
        struct error error = {0};

        EXPECT_INT(webdav_objects_new(places[i], &objects, &error), ERR_INVALID, places[i]);
    }
}

SUITE(webdav_answers, TEST(understands_answers), TEST(asks_for_a_move_that_replaces_nothing),
      TEST(deletes_folders_by_their_lock), TEST(refuses_places))
