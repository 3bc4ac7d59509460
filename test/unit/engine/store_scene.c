#include "test/unit/engine/store_scene.h"

#include "test/unit/suite.h"

static const struct store_call plain; /* no deadline, no cancel, no permit */

struct store_file *store_scene_open_in(struct store_scene *scene, struct store *store)
{
    struct store_file *file = NULL;

    if (store == scene->other && scene->fixture->break_lock)
        scene->fixture->break_lock(scene->fixture->arg, &scene->name);
    EXPECT_INT(store->ops->open(store, &scene->name, STORE_WRITE, &plain, &file, &scene->error), 0,
               scene->error.message);
    if (!file)
        abort();
    return file;
}

struct store_file *store_scene_open(struct store_scene *scene)
{
    return store_scene_open_in(scene, scene->store);
}

void store_scene_close(struct store_file *file)
{
    file->store->ops->close(file);
}

void store_scene_fill(struct buf *buf, size_t length, unsigned seed)
{
    uint32_t state = seed * 2654435761u + 1;

    buf_done(buf);
    buf_reserve(buf, length);
    for (size_t i = 0; i < length; i++) {
        state = state * 1664525 + 1013904223;
        buf_add_char(buf, (char)(state >> 24));
    }
}

int store_scene_write_bytes(struct store_scene *scene, struct store_file *file,
                            const struct buf *open, const struct buf *secret)
{
    const struct document document = {.open = *open, .secret = *secret};

    err_clear(&scene->error);
    return file->store->ops->write(file, &plain, &document, &scene->error);
}

int store_scene_write(struct store_scene *scene, struct store_file *file, const char *open,
                      const char *secret)
{
    _cleanup_buf_ struct buf open_bytes = BUF_INIT, secret_bytes = BUF_INIT;

    buf_add_str(&open_bytes, open);
    buf_add_str(&secret_bytes, secret);
    return store_scene_write_bytes(scene, file, &open_bytes, &secret_bytes);
}

int store_scene_append(struct store_scene *scene, struct store_file *file, const char *text)
{
    err_clear(&scene->error);
    return file->store->ops->append(file, &plain, text, strlen(text), &scene->error);
}

int store_scene_remove(struct store_scene *scene, struct store_file *file)
{
    err_clear(&scene->error);
    return file->store->ops->remove(file, &plain, &scene->error);
}

int store_scene_read(struct store_scene *scene, struct store_file *file, struct document *ret)
{
    err_clear(&scene->error);
    return file->store->ops->read(file, &plain, ret, &scene->error);
}

bool store_scene_can_append(const struct store_scene *scene)
{
    return scene->store->ops->append != NULL;
}

/* ---- Checks ---- */

void store_scene_expect_read(struct store_scene *scene, struct store_file *file, const char *open,
                             const char *secret, const char *const *entries, const char *what)
{
    struct document document = DOCUMENT_INIT;
    size_t n = 0;

    expect_ok(scene, store_scene_read(scene, file, &document), what);
    expect_true_of(scene, has_bytes(&document.open, open, strlen(open)), what);
    expect_true_of(scene, has_bytes(&document.secret, secret, strlen(secret)), what);
    for (; entries && entries[n]; n++)
        expect_true_of(scene,
                       n < document.n_entries &&
                           has_bytes(&document.entries[n], entries[n], strlen(entries[n])),
                       entries[n]);
    expect_true_of(scene, document.n_entries == n, what);
    document_done(&document);
}

void store_scene_expect_kept(struct store_scene *scene, const char *open, const char *secret,
                             const char *const *entries, const char *what)
{
    struct store *store = scene->fixture->attach(scene->fixture->arg);
    struct store_file *file = NULL;

    expect_ok(scene,
              store->ops->open(store, &scene->name, STORE_READ, &plain, &file, &scene->error),
              what);
    store_scene_expect_read(scene, file, open, secret, entries, what);
    store_scene_close(file);
    store->ops->free(store);
}

void store_scene_expect_none(struct store_scene *scene, const char *what)
{
    struct store *store = scene->fixture->attach(scene->fixture->arg);
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    expect_ok(scene,
              store->ops->open(store, &scene->name, STORE_READ, &plain, &file, &scene->error),
              what);
    expect_code(scene, store_scene_read(scene, file, &document), ERR_NOT_FOUND, what);
    expect_true_of(scene, document.open.length + document.n_entries == 0, what);
    store_scene_close(file);
    store->ops->free(store);
}
