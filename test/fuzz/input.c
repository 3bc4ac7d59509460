/*
 * Whatever the bytes of a file, reading, converting and checking it end; every finding has a place
 * in the file; and a Spec that was made of it is read back as it was written.
 */
#include "cli/input/input.h"
#include "cli/check/check.h"
#include "cli/convert/convert.h"
#include "engine/value/json.h"
#include "test/fuzz/fuzz.h"

static void check_written(const struct value *spec)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    _cleanup_value_ const struct value *again = NULL;
    struct error error = {0};

    yaml_write(&text, spec);
    if (yaml_read(text.data, text.length, &again, &error) < 0 || !value_equal(spec, again)) {
        fprintf(stderr, "not read as it was written: %s\n%s\n", error.message, text.data);
        abort();
    }
}

static void check_places(struct findings *findings, size_t size)
{
    findings_place(findings);
    for (size_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];

        if (finding->document && (!finding->mark.line || finding->mark.line > size + 1 ||
                                  !finding->mark.column || finding->mark.column > size + 1))
            abort();
    }
}

static void convert(const struct input *input, size_t size)
{
    const struct convert_options options = {
        .name = "web", .namespace_name = "apps", .order = ORDER_REFS};
    struct convert_source source = {0};
    struct findings findings = FINDINGS_INIT;
    struct conversion made = {0};
    struct checked checked;
    struct error error = {0};

    convert_collect(input, &source, &findings);
    check_source(&source, &options, &findings, &checked);
    if (convert_make(&source, &options, &made, &findings, &error) == 0) {
        const struct value *manifests = convert_to_manifests(&made, &findings);
        const struct value *kusion = convert_to_kusion(made.spec, NULL, &findings);

        check_written(made.spec);
        value_unref(manifests);
        value_unref(kusion);
    }
    check_places(&findings, size);
    conversion_done(&made);
    findings_done(&findings);
    convert_source_done(&source);
}

static void convert_tfstate(const struct input *input)
{
    struct convert_source source = {0};
    struct findings findings = FINDINGS_INIT;

    for (size_t i = 0; i < input->count; i++)
        convert_add_tfstate(&source, &input->documents[i], NULL, &findings, NULL);
    findings_done(&findings);
    convert_source_done(&source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = INPUT_INIT;
    struct error error = {0};
    int code = input_add_text(&input, "file", (const char *)data, size, &error);

    if ((code < 0) != (error.code < 0) || (code < 0 && !*error.message))
        abort();
    if (code == 0) {
        convert(&input, size);
        convert_tfstate(&input);
    }
    input_done(&input);
    return 0;
}
