"""What a provider warns of, and of what it makes: it is told once, with the change, and nothing fails for it."""

import time

import pytest

from kusion_e2e.broken import Whisperer, broken
from kusion_e2e.controller import Controller
from kusion_e2e.releases import plan_of
from kusion_e2e.terraform import flags, need_providers, spec_of

SECRET = "correct-horse-battery-staple"
OLD, MADE = "attributes.tags: is deprecated: use text", "attributes.text: was made late"
REGION = "extensions.providerMeta.region: is deprecated"
HIDDEN = "extensions.providerMeta.token: is (sensitive value)"


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture(scope="module")
def controller(state_namespace):
    controller = Controller(state_namespace, flags=flags("kusion/broken", which=("test",)))
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def whisperer():
    made = Whisperer()
    made.tell("warned", ValidateResourceConfig="warn tags is deprecated: use text",
              ApplyResourceChange=f"warn text was made late|secret is {SECRET}")
    yield made
    made.close()


@pytest.fixture
def spec(controller, tenant):
    with spec_of(controller.cluster, tenant) as spec:
        yield spec


def test_warnings_are_told_once(spec, whisperer, controller):
    thing = broken(text="x", secret=SECRET)
    more = {"context": {"BROKEN": whisperer.address("warned")}, "interval": "1s"}

    spec.apply([thing], suspend=True, **more).wait("Unknown")
    assert plan_of(spec.cluster, spec.namespace, spec.name)[thing["id"]]["warnings"] == [OLD]

    ready = spec.apply([thing], **more).wait("True")
    assert ready["message"].endswith("1 created; 3 warnings"), ready
    result, = spec.releases()[-1]["status"]["results"]
    hidden = "attributes.secret: is (sensitive value)"
    assert (result["outcome"], result["warnings"]) == ("succeeded", [OLD, MADE, hidden])
    spec.wait_event("ProviderWarning", f"{thing['id']}: {OLD}; {thing['id']}: {MADE}", type="Warning")

    time.sleep(3)  # checks that find nothing
    assert sum(event["reason"] == "ProviderWarning" for event in spec.events()) == 1
    assert SECRET not in controller.log.read_text() + str(spec.events()) + str(spec.releases())


def test_warnings_of_the_configuration_of_a_deletion_and_of_what_is_unchanged(spec, whisperer, controller):
    whisperer.tell("more", ValidateProviderConfig="warn region is deprecated",
                   ConfigureProvider=f"warn token is {SECRET}",
                   ValidateResourceConfig="warn tags is deprecated: use text",
                   ApplyResourceChange="warn text was made late")
    thing = broken(text="x", extensions={"providerMeta": {"region": "r", "token": SECRET}})
    more = {"context": {"BROKEN": whisperer.address("more")}, "interval": "1s"}

    ready = spec.apply([thing], **more).wait("True")
    assert ready["message"].endswith("1 created; 4 warnings"), ready
    made, = spec.releases()[-1]["status"]["results"]
    assert set(made["warnings"]) == {REGION, HIDDEN, OLD, MADE}, made

    # A Preview is for a person to read: what is unchanged is told of again.
    found = plan_of(spec.cluster, spec.namespace, spec.name)[thing["id"]]
    assert (found["action"], set(found["warnings"])) == ("unchanged", {REGION, HIDDEN, OLD}), found

    spec.apply([broken("b", text="x", extensions=thing["extensions"])], **more).wait("True")
    gone = next(one for one in spec.releases()[-1]["status"]["results"] if one["id"] == thing["id"])
    assert (gone["action"], set(gone["warnings"])) == ("delete", {REGION, HIDDEN, MADE}), gone
    assert SECRET not in controller.log.read_text() + str(spec.events()) + str([one["status"] for one in spec.releases()])
