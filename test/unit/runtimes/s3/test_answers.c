/* What S3 may answer, by a server of ours: errors, clocks, web identity, conditions. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/str.h"
#include "runtimes/s3/private.h"
#include "test/unit/runtimes/chain/answers.h"
#include "test/unit/runtimes/chain/objects_contract.h"
#include "test/unit/suite.h"

#define SECRET "secret-that-nobody-may-see"

static const struct store_call plain;

static void write_file(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    close(fd);
}

static void remove_file(const char *folder, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", folder, name);

    unlink(path);
}

struct scene {
    char folder[32];
    struct answers *answers;
    struct objects *objects;
    struct error error;
};

/* options: after those that are always given, "&…". */
static void begin(struct scene *scene, const struct answer *table, size_t count,
                  const char *options)
{
    _cleanup_free_ char *place = NULL;

    *scene = (struct scene){.folder = "/tmp/s3-XXXXXX"};
    if (!mkdtemp(scene->folder))
        abort();
    write_file(scene->folder, "AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE\n");
    write_file(scene->folder, "AWS_SECRET_ACCESS_KEY", SECRET "\n");
    scene->answers = answers_new(table, count);
    place = str_printf("s3://bucket/a/b?endpoint=http://127.0.0.1:%d&credentials=%s%s",
                       answers_port(scene->answers), scene->folder, options);
    EXPECT_INT(s3_objects_new(place, &scene->objects, &scene->error), 0, scene->error.message);
}

static void end(struct scene *scene)
{
    scene->objects->ops->free(scene->objects);
    answers_free(scene->answers);
    remove_file(scene->folder, "AWS_ACCESS_KEY_ID");
    remove_file(scene->folder, "AWS_SECRET_ACCESS_KEY");
    remove_file(scene->folder, "token");
    rmdir(scene->folder);
}

static int create(struct scene *scene)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    buf_add_str(&bytes, "bytes");
    err_clear(&scene->error);
    return scene->objects->ops->create(scene->objects, "v1/state/t/w/~0000000000000001", &bytes,
                                       &plain, &scene->error);
}

static int get(struct scene *scene)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    err_clear(&scene->error);
    return scene->objects->ops->get(scene->objects, "v1/state/t/w/~0000000000000001", &bytes,
                                    &plain, &scene->error);
}

static void expect_in(const char *text, const char *part, const char *note)
{
    EXPECT(strstr(text, part), note);
    if (!strstr(text, part))
        printf("not in it: %s\n%s\n", part, text);
}

/* ---- Errors ---- */

#define SAID(code) \
    "<?xml version=\"1.0\"?><Error><Code>" code "</Code><Message>Words.</Message></Error>"

static const struct {
    struct answer answer;
    int created, got;
    const char *reason; /* of both, but where one of them is no error */
} errors[] = {
    {{412, NULL, SAID("PreconditionFailed")}, ERR_EXISTS, ERR_INTERNAL, NULL},
    {{409, NULL, SAID("FileAlreadyExists")}, ERR_EXISTS, ERR_INTERNAL, NULL},
    {{409, NULL, SAID("ConditionalRequestConflict")},
     ERR_UNAVAILABLE,
     ERR_UNAVAILABLE,
     "StoreBusy"},
    {{404, NULL, SAID("NoSuchKey")}, ERR_INTERNAL, ERR_NOT_FOUND, NULL},
    {{404, NULL, SAID("NoSuchBucket")}, ERR_UNAVAILABLE, ERR_UNAVAILABLE, "StoreNotFound"},
    {{404, NULL, "<html>"}, ERR_INTERNAL, ERR_INTERNAL, "UnexpectedAnswer"},
    {{403, NULL, SAID("AccessDenied")}, ERR_FORBIDDEN, ERR_FORBIDDEN, "StoreRefused"},
    {{403, NULL, SAID("SignatureDoesNotMatch")}, ERR_FORBIDDEN, ERR_FORBIDDEN, "StoreRefused"},
    {{400, NULL, SAID("ExpiredToken")}, ERR_FORBIDDEN, ERR_FORBIDDEN, "StoreRefused"},
    {{301, "x-amz-bucket-region: eu-west-1\r\n", SAID("PermanentRedirect")},
     ERR_FORBIDDEN,
     ERR_FORBIDDEN,
     "StoreRefused"},
    {{400, NULL, SAID("EntityTooLarge")}, ERR_TOO_LARGE, ERR_TOO_LARGE, "StoreFull"},
    {{413, NULL, NULL}, ERR_TOO_LARGE, ERR_TOO_LARGE, "StoreFull"},
    {{507, NULL, SAID("XMinioStorageFull")}, ERR_UNAVAILABLE, ERR_UNAVAILABLE, "StoreFull"},
    {{503, NULL, SAID("SlowDown")}, ERR_UNAVAILABLE, ERR_UNAVAILABLE, "StoreBusy"},
    {{500, NULL, SAID("InternalError")}, ERR_UNAVAILABLE, ERR_UNAVAILABLE, "StoreBusy"},
    {{429, NULL, NULL}, ERR_UNAVAILABLE, ERR_UNAVAILABLE, "StoreBusy"},
    {{200, NULL, "bytes"}, 0, 0, NULL},
};

static void tells_errors(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        const struct answer table[] = {errors[i].answer, errors[i].answer};
        _cleanup_free_ char *note = str_printf("row %zu", i);
        struct scene scene;

        begin(&scene, table, 2, "");
        EXPECT_INT(create(&scene), errors[i].created, scene.error.message);
        if (errors[i].reason) {
            EXPECT_STR(scene.error.reason, errors[i].reason, note);
            expect_in(scene.error.message, "s3://bucket/a/b/v1/state/t/w/~0000000000000001", note);
        }
        EXPECT(!strstr(scene.error.message, SECRET), "no secret");
        EXPECT_INT(get(&scene), errors[i].got, scene.error.message);
        if (errors[i].reason)
            EXPECT_STR(scene.error.reason, errors[i].reason, note);
        if (errors[i].answer.status == 301)
            expect_in(scene.error.message, "eu-west-1", "the bucket's region");
        EXPECT(!strstr(answers_request(scene.answers, 0), SECRET), "not in a request");
        end(&scene);
    }
}

static void tells_that_nothing_answers(void)
{
    static const struct answer table[] = {{0, NULL, NULL}};
    struct scene scene;

    begin(&scene, table, 1, "");
    EXPECT_INT(create(&scene), ERR_UNAVAILABLE, scene.error.message);
    EXPECT_STR(scene.error.reason, "StoreInDoubt", "it was sent");
    EXPECT_INT(answers_count(scene.answers), 1, "it is not repeated here");
    remove_file(scene.folder, "AWS_SECRET_ACCESS_KEY");
    EXPECT_INT(get(&scene), ERR_FORBIDDEN, scene.error.message);
    EXPECT_STR(scene.error.reason, "StoreRefused", "the file is gone");
    expect_in(scene.error.message, "AWS_SECRET_ACCESS_KEY", "which file");
    end(&scene);
}

/* ---- Requests ---- */

static void sends_the_condition(void)
{
    static const struct {
        const char *options, *header, *signed_names;
    } rows[] = {
        {"", "if-none-match: *\r\n", "host;if-none-match;x-amz-content-sha256;x-amz-date,"},
        {"&condition=x-oss-forbid-overwrite", "x-oss-forbid-overwrite: true\r\n",
         "host;x-amz-content-sha256;x-amz-date;x-oss-forbid-overwrite,"},
        {"&condition=x-goog-if-generation-match", "x-goog-if-generation-match: 0\r\n",
         "host;x-amz-content-sha256;x-amz-date;x-goog-if-generation-match,"},
    };
    static const struct answer table[] = {{200, NULL, NULL}, {200, NULL, "x"}};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct scene scene;

        begin(&scene, table, 2, rows[i].options);
        EXPECT_INT(create(&scene), 0, scene.error.message);
        expect_in(answers_request(scene.answers, 0), rows[i].header, rows[i].header);
        expect_in(answers_request(scene.answers, 0), rows[i].signed_names, rows[i].header);
        expect_in(answers_request(scene.answers, 0),
                  "PUT /bucket/a/b/v1/state/t/w/~0000000000000001 HTTP/1.1\r\n", "path style");
        EXPECT_INT(get(&scene), 0, scene.error.message);
        EXPECT(!strstr(answers_request(scene.answers, 1), rows[i].header), "not of a GET");
        end(&scene);
    }
}

static void corrects_its_clock(void)
{
    static const struct answer table[] = {
        {403, "Date: Fri, 24 May 2013 00:00:00 GMT\r\n", SAID("RequestTimeTooSkewed")},
        {200, NULL, "x"},
        {200, NULL, "x"},
    };
    struct scene scene;

    begin(&scene, table, 3, "");
    EXPECT_INT(get(&scene), 0, scene.error.message);
    EXPECT(!strstr(answers_request(scene.answers, 0), "x-amz-date: 20130524T"), "ours first");
    expect_in(answers_request(scene.answers, 1), "x-amz-date: 20130524T00000", "then the server's");
    EXPECT_INT(get(&scene), 0, scene.error.message);
    expect_in(answers_request(scene.answers, 2), "x-amz-date: 20130524T00000", "from then on");
    end(&scene);
}

static int count_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    (void)error;
    EXPECT(str_has_prefix(key, "v1/"), key);
    EXPECT_INT(modified, INT64_C(1369353600000), key);
    ++*(unsigned *)arg;
    return 0;
}

#define CONTENTS(key)            \
    "<Contents><Key>a/b/v1/" key \
    "</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified></Contents>"

#define ENDLESS                                           \
    "<ListBucketResult><IsTruncated>true</IsTruncated>"   \
    "<NextContinuationToken>same</NextContinuationToken>" \
    "</ListBucketResult>"

static void lists_pages(void)
{
    static const struct answer table[] = {
        {200, NULL,
         "<ListBucketResult><IsTruncated>true</IsTruncated>" CONTENTS("~1") CONTENTS(
             "~2") "<NextContinuationToken>t+/=</NextContinuationToken></ListBucketResult>"},
        {200, NULL,
         "<ListBucketResult><IsTruncated>false</IsTruncated>" CONTENTS("~3") "</ListBucketResult>"},
        {200, NULL, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"},
        {200, NULL, "<Other/>"},
        {200, NULL, "<ListBucketResult><Contents><Key>other</Key></Contents></ListBucketResult>"},
        {200, NULL,
         "<ListBucketResult><Contents><Key>a/b/v2/~1</Key></Contents></ListBucketResult>"},
        {200, NULL, ENDLESS},
        {200, NULL, ENDLESS},
    };
    struct scene scene;
    unsigned count = 0;

    begin(&scene, table, ARRAY_SIZE(table), "");
    EXPECT_INT(
        scene.objects->ops->list(scene.objects, "v1/", count_key, &count, &plain, &scene.error), 0,
        scene.error.message);
    EXPECT_INT(count, 3, "both pages");
    expect_in(
        answers_request(scene.answers, 1),
        "GET /bucket?continuation-token=t%2B%2F%3D&list-type=2&max-keys=1000&prefix=a%2Fb%2Fv1%2F ",
        "the next page");
    for (unsigned i = 0; i < 5; i++) {
        err_clear(&scene.error);
        EXPECT_INT(
            scene.objects->ops->list(scene.objects, "v1/", count_key, &count, &plain, &scene.error),
            ERR_INTERNAL, scene.error.message);
    }
    EXPECT_INT(answers_count(scene.answers), ARRAY_SIZE(table), "a list that does not go on ends");
    end(&scene);
}

/* ---- Web identity ---- */

static void exchanges_a_token(void)
{
    static const struct answer table[] = {
        {200, NULL,
         "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
         "<SessionToken>session</SessionToken><SecretAccessKey>" SECRET "</SecretAccessKey>"
         "<Expiration>2099-01-01T00:00:00Z</Expiration><AccessKeyId>ASIAEXAMPLE</AccessKeyId>"
         "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"},
        {200, NULL, "x"},
        {200, NULL, "x"},
    };
    _cleanup_free_ char *place = NULL, *token = NULL;
    struct scene scene;

    begin(&scene, table, 3, "");
    scene.objects->ops->free(scene.objects);
    write_file(scene.folder, "token", "a.b+c\n");
    token = str_printf("%s/token", scene.folder);
    setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/kusion", 1);
    setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token, 1);
    place = str_printf("s3://bucket/a/b?endpoint=http://127.0.0.1:%d&sts=http://127.0.0.1:%d",
                       answers_port(scene.answers), answers_port(scene.answers));
    EXPECT_INT(s3_objects_new(place, &scene.objects, &scene.error), 0, scene.error.message);
    EXPECT_INT(get(&scene), 0, scene.error.message);
    EXPECT_INT(get(&scene), 0, scene.error.message);
    expect_in(answers_request(scene.answers, 0),
              "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fkusion&"
              "RoleSessionName=kusion-operator&Version=2011-06-15&WebIdentityToken=a.b%2Bc",
              "the exchange");
    expect_in(answers_request(scene.answers, 1), "x-amz-security-token: session\r\n", "signed by");
    expect_in(answers_request(scene.answers, 1), "Credential=ASIAEXAMPLE/", "signed by");
    EXPECT_INT(answers_count(scene.answers), 3, "exchanged once");
    unsetenv("AWS_ROLE_ARN");
    unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    end(&scene);
}

/* ---- Places ---- */

static void refuses_places(void)
{
    static const struct {
        const char *place, *message;
    } rows[] = {
        {"s3:bucket", "not of the form"},
        {"s3://", "there must be a name"},
        {"s3://user:word@bucket", "credentials are read from files"},
        {"s3://Bucket?credentials=/x", "a bucket's name"},
        {"s3://bucket/a//b?credentials=/x", "the path"},
        {"s3://bucket/../b?credentials=/x", "the path"},
        {"s3://bucket?credentials=/x&colour=blue", "there is no option \"colour\""},
        {"s3://bucket?credentials=/x&credentials=/y", "given twice"},
        {"s3://bucket?credentials=%zz", "percent-encoded"},
        {"s3://bucket?credentials=/x&style=odd", "style"},
        {"s3://bucket?credentials=/x&condition=odd", "condition"},
        {"s3://bucket?credentials=/x&endpoint=ftp://h", "endpoint"},
        {"s3://bucket?credentials=/x&endpoint=https://u@h", "endpoint"},
        {"s3://bucket", "no credentials"},
        {"http://bucket?credentials=/x", "does not begin with s3://"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct objects *objects = NULL;
        struct error error = {0};

        EXPECT_INT(s3_objects_new(rows[i].place, &objects, &error), ERR_INVALID, rows[i].place);
        expect_in(error.message, rows[i].message, rows[i].place);
    }
}

SUITE(s3_answers, TEST(tells_errors), TEST(tells_that_nothing_answers), TEST(sends_the_condition),
      TEST(corrects_its_clock), TEST(lists_pages), TEST(exchanges_a_token), TEST(refuses_places))
