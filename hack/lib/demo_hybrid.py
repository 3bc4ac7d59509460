"""What `hack/demo hybrid` shows: examples/hybrid.yaml, Kubernetes objects and resources of Terraform providers in
one graph. It is previewed, applied, changed, rolled back and deleted. Exit status 1 where something is not as it
should be, or a secret can be read where it should not."""

import base64
import copy
import json
import subprocess
import sys

from demo import GREEN, DemoFailed, make, paint, row, run
from demo_commands import CommandDemo
from kubewatch import ROOT

PASSWORD = "hashicorp:random:random_password:database"


def with_length(manifest, length):
    made = copy.deepcopy(manifest)
    for one in made["spec"]["resources"]:
        if one["id"] == PASSWORD:
            one["attributes"]["length"] = length
    return made


class HybridDemo(CommandDemo):
    example = ROOT / "examples" / "hybrid.yaml"

    def __init__(self, manifest, plane, operator):
        super().__init__(manifest, plane, operator)
        self.secrets = set()  # all that ever were
        self.watch()

    # What is so

    def revision(self):
        return (self.spec or {}).get("status", {}).get("lastAppliedRevision", 0)

    def secret(self, name, key):
        found = self.api.get(f"/api/v1/namespaces/{self.namespace}/secrets/{name}").must().object
        text = base64.b64decode(found["data"][key]).decode()
        self.secrets.add(text)
        return text

    def password(self):
        return self.secret("database", "password")

    def certificate(self):
        """What is in it, as OpenSSL tells."""
        text = self.secret("page", "tls.crt")
        self.secrets.discard(text)  # a certificate is public
        self.secret("page", "tls.key")
        command = ["openssl", "x509", "-noout", "-subject", "-ext", "subjectAltName"]
        return subprocess.run(command, input=text, text=True, capture_output=True, check=True).stdout

    def tell_results(self, release):
        """What became of each resource, the Terraform ones too, which no watch tells of."""
        for one in self.status_of(release)["results"]:
            row(one.get("action", ""), one["id"], f"{one['outcome']} in {one.get('duration', '0s')}")
        print(flush=True)

    def look_for_secrets(self):
        """In all that people may read without the right to read Secrets."""
        places = {"Releases": f"/apis/api.kusion.io/v1/namespaces/{self.namespace}/releases",
                  "Specs": f"/apis/api.kusion.io/v1/namespaces/{self.namespace}/specs",
                  "Events": f"/api/v1/namespaces/{self.namespace}/events",
                  "ConfigMaps": "/api/v1/configmaps"}
        for kind, path in places.items():
            text = json.dumps(self.api.get(path).must().object)
            for secret in self.secrets:
                if secret in text or base64.b64encode(secret.encode()).decode() in text:
                    raise DemoFailed(f"a secret can be read in {kind}")
        print(f"  The password and the private key are in {paint(GREEN, 'Secrets only')}: not in "
              f"{', '.join(places)}.", flush=True)

    # The acts

    def preview(self):
        self.act("It is previewed: the plans of the providers and those of the API server in one")
        self.write(self.manifest, "a copy of examples/hybrid.yaml")
        self.show_plan(self.preview_file())

    def apply_file(self):
        """Gives the Release."""
        before = self.revision()
        self.type_apply()
        self.follow(lambda: self.revision() > before and self.is_ready())
        release = f"{self.name}-{self.revision()}"
        self.follow(lambda: self.has_ended(release))
        print(flush=True)
        self.tell_results(release)
        return release

    def create(self):
        self.act("It is applied")
        self.apply_file()
        address = self.resources["v1:Service:team-a:page"].live["spec"]["clusterIP"]
        if f"IP Address:{address}" not in self.certificate() or len(self.password()) != 24:
            raise DemoFailed(f"the certificate is not for {address}, or the password is another one")
        print(f"  The certificate is for {paint(GREEN, address)}, the address that the API server gave the Service.")
        self.look_for_secrets()

    def change(self):
        self.act("A longer password: it cannot be changed in place, so that the provider makes another one")
        first = self.password()
        self.write(with_length(self.manifest, 32), "length: 32")
        self.show_plan(self.preview_file())
        self.apply_file()
        if len(self.password()) != 32 or self.password() == first:
            raise DemoFailed("the password did not change")
        self.look_for_secrets()

    def roll_back(self, revision):
        self.act(f"Back to revision {revision}: to its password's length. The old password is gone")
        first = self.password()
        release = self.create_release(operation="Rollback", toRevision=revision)
        self.follow(lambda: self.has_ended(release))
        if self.status_of(release)["phase"] != "succeeded":
            raise DemoFailed(f"{release}: {self.status_of(release).get('summary')}")
        self.follow(lambda: self.status_of(f"{self.name}-{self.status_of(release)['revision']}").get("results"))
        self.tell_results(f"{self.name}-{self.status_of(release)['revision']}")
        if len(self.password()) != 24 or self.password() == first:
            raise DemoFailed("the password was not rolled back")
        self.look_for_secrets()


def show(demo):
    demo.preview()
    demo.create()
    demo.change()
    demo.roll_back(1)
    demo.history()


def main():
    return run(show, *make(HybridDemo))


if __name__ == "__main__":
    sys.exit(main())
