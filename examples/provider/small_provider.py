"""What each provider made with tf says: docs/providers-of-your-own.md. Copy it, and leave it as it is.

A Provider has a name, settings and resources. `config` has its settings, once it is configured. A Resource has a name,
attributes, and create, read, update and delete, as a resource of tf; plan and import_ if it wants. Settings and attributes
are those of tf.schema. What goes wrong is raised as Failed.
"""

import functools

from tf import iface, runner
from tf.schema import Schema


class Failed(Exception):
    """Its text is told as the error of the resource. Any other exception is a defect of the provider."""


def _told(method):
    @functools.wraps(method)
    def call(self, ctx, *states):
        try:
            return method(self, ctx, *states)
        except Failed as error:
            ctx.diagnostics.add_error(str(error))
    return call


class Resource(iface.Resource):
    name, attributes = "", []

    def __init_subclass__(cls):
        super().__init_subclass__()
        for name in ("create", "read", "update", "delete"):
            setattr(cls, name, _told(getattr(cls, name)))

    def __init__(self, provider):
        self.provider = provider

    @classmethod
    def get_name(cls):
        return cls.name

    @classmethod
    def get_schema(cls):
        return Schema(version=0, attributes=cls.attributes)


class Provider(iface.Provider):
    name, settings, resources = "", [], []

    def full_name(self):
        return self.name

    def get_model_prefix(self):
        return self.name.rpartition("/")[2] + "_"

    def get_provider_schema(self, diagnostics):
        return Schema(version=0, attributes=self.settings)

    def get_resources(self):
        return self.resources

    def get_data_sources(self):
        return []

    def validate_config(self, diagnostics, config):
        pass

    @classmethod
    def run(cls):
        runner.run_provider(cls())
