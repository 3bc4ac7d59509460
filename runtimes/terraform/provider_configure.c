#include "engine/base/str.h"
#include "engine/value/redaction.h"
#include "runtimes/terraform/plugin/diagnostics.h"
#include "runtimes/terraform/provider.h"

/* Where the configuration is in a resource. */
#define ROOT "extensions.providerMeta"

static int send_configuration(struct plugin *plugin, const struct buf *config,
                              const struct plugin_call *call, struct warnings *warnings,
                              struct error *error)
{
    const struct plugin_asking asking = {
        .plugin = plugin, .call = call, .root = ROOT, .warnings = warnings};
    Tfplugin__DynamicValue value = TFPLUGIN__DYNAMIC_VALUE__INIT;
    Tfplugin__ValidateProviderRequest validate = TFPLUGIN__VALIDATE_PROVIDER_REQUEST__INIT;
    _cleanup_message_ Tfplugin__ValidateProviderResponse *valid = NULL;
    Tfplugin__ConfigureRequest configure = TFPLUGIN__CONFIGURE_REQUEST__INIT;
    _cleanup_message_ Tfplugin__Said *configured = NULL;
    int r;

    value.msgpack = (ProtobufCBinaryData){config->length, (uint8_t *)config->data};
    validate.config = &value;
    r = plugin_ask(&asking, PLUGIN_VALIDATE_PROVIDER, &validate.base, &valid, error);
    if (r < 0)
        return r;
    configure.config = &value;
    configure.terraform_version = (char *)(uintptr_t)TERRAFORM_VERSION;
    return plugin_ask(&asking, PLUGIN_CONFIGURE, &configure.base, &configured, error);
}

static int encode_configuration(const struct tf_schema *schema, const struct value *given,
                                struct buf *to, struct error *error)
{
    _cleanup_value_ const struct value *nothing = value_pack("{}"), *config = NULL;
    struct path path;
    int r;

    path_init(&path);
    path_push_key(&path, "extensions");
    path_push_key(&path, "providerMeta");
    r = tf_configure(schema->block, given ? given : nothing, &path, &config, error);
    path_done(&path);
    return r < 0 ? r : tf_encode(to, config, schema->block->type, error);
}

static void hide(struct warnings *warnings, const struct value *secrets)
{
    for (size_t i = 0; i < warnings->count; i++) {
        struct error shown = {0};

        err_set(&shown, ERR_INVALID, NULL, "%s", warnings->items[i]);
        redact_error(&shown, &secrets, 1);
        free(warnings->items[i]);
        warnings->items[i] = str_new(shown.message);
    }
}

int provider_configure(struct provider *provider, struct plugin *plugin,
                       const struct value *configuration, const struct plugin_call *call,
                       struct warnings *warnings, struct error *error)
{
    _cleanup_(tf_schema_unref_p) struct tf_schema *schema = provider_own_schema(provider);
    _cleanup_buf_ struct buf config = BUF_INIT;
    /* A provider may quote what it is configured with. */
    _cleanup_value_ const struct value *secrets = tf_mark(schema->block, configuration);
    struct error failure = {0};
    int r = encode_configuration(schema, configuration, &config, &failure);

    if (r >= 0)
        r = send_configuration(plugin, &config, call, warnings, &failure);
    hide(warnings, secrets);
    if (r >= 0)
        return 0;
    redact_error(&failure, &secrets, 1);
    return err_copy(error, &failure);
}
