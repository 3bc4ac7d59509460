/*
 * Answers that are not 2xx. The first line is "STATUS METHOD NAME APPLY" (NAME "-": of a
 * collection), the rest the body: it is always an error with a reason and a message in one
 * line, ERR_NOT_FOUND only where a Status names the object asked for, and no value that an
 * "Invalid value: " is followed by is in it.
 */
#include "runtimes/kubernetes/client/api_error.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/value/json.h"
#include "runtimes/io/http.h"
#include "runtimes/kubernetes/client/ref.h"
#include "test/fuzz/fuzz.h"

#define SECRET "hunter2hunter2"

static void check_message(int r, const struct error *error)
{
    size_t length = strlen(error->message);

    must_agree(r, error);
    must(r < 0 && length > 0 && utf8_valid(error->message, length) == length);
    must(!strpbrk(error->message, "\r\n"));
}

static void check_not_found(const struct value *status, const char *name)
{
    must(name && str_equal(value_get_string(status, "kind"), "Status"));
    must(str_equal(value_get_string(status, "reason"), "NotFound"));
    must(str_equal(value_get_string(value_get(status, "details"), "name"), name));
}

/* A value of any shape that the fuzzer makes, in what the API server says of it. */
static void check_redaction(const char *around)
{
    _cleanup_free_ char *text = str_printf("Invalid value: \"%s\": %s", SECRET, around);
    _cleanup_value_ const struct value *status =
        value_pack("{s:s, s:s, s:s, s:s, s:i}", "kind", "Status", "apiVersion", "v1", "reason",
                   "Invalid", "message", text, "code", 422);
    struct error error = {0};

    check_message(api_error_from_status(status, &error), &error);
    must(!strstr(error.message, SECRET) || strstr(around, SECRET));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *line = take_line(&data, &size);
    char method[16] = "GET", name[64] = "-", apply[8] = "";
    struct http_response response = HTTP_RESPONSE_INIT;
    _cleanup_value_ const struct value *body = NULL;
    struct error error = {0}, of_status = {0};
    struct kube_ref ref;
    const char *asked;
    int r;

    if (sscanf(line, "%5d %15s %63s %7s", &response.status, method, name, apply) < 1 ||
        response.status / 100 == 2)
        response.status = 500;
    if (utf8_valid(method, strlen(method)) != strlen(method))
        method[0] = '\0';
    asked = strcmp(name, "-") == 0 ? NULL : name;
    ref = (struct kube_ref){.name = asked};
    buf_add(&response.body, data, size);
    json_read((const char *)data, size, &body, NULL);
    r = api_error_from_response(method, &ref, *apply == 'a', &response, &error);
    check_message(r, &error);
    if (r == ERR_NOT_FOUND)
        check_not_found(body, asked);
    if (body)
        check_message(api_error_from_status(body, &of_status), &of_status);
    if (utf8_valid(response.body.data, size) == size)
        check_redaction(response.body.data);
    http_response_done(&response);
    return 0;
}
