"""Secret stores of clouds, as the operator finds them: each has the server that takes a token of an account, and
the one that has secrets. They verify what a cloud verifies: the token (by the API server, with the cloud's
audience), the signature, what the role may read.

AWS is moto behind a proxy that verifies signatures, since moto does not. Alibaba Cloud and Azure are small servers
of ours, written after their documentation."""

import base64
import hashlib
import hmac
import json
import re
import secrets
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

import pytest

from kusion_e2e.api import Api
from kusion_e2e.paths import ROOT
from kusion_e2e.vault import REVIEWS


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Cloud:
    """`roles` maps what a role is called there to the user that may take it."""

    AUDIENCE = None

    def __init__(self, cluster):
        self.api, self.lock = Api(cluster.kubeconfig), threading.Lock()
        self.roles, self.requests, self.refused = {}, [], []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def flags(self):
        return ["--secret-store-host", f"http://{self.host}=127.0.0.1"]

    def endpoints(self):
        """The environment of an operator that takes this for the cloud."""
        return ",".join(f"{address}=http://{self.host}" for address in self.ADDRESSES)

    def user_of(self, token):
        with self.lock:
            answer = self.api.create(REVIEWS, {
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                "spec": {"token": token, "audiences": [self.AUDIENCE]}})
        status = answer.must().object["status"]
        return status["user"]["username"] if status.get("authenticated") else None

    def may_take(self, role, token):
        return role in self.roles and self.user_of(token) == self.roles[role]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, method, path, headers, body):
        """Status, content type, text."""
        raise NotImplementedError

    def _handler(cloud):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _do(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, kind, text = cloud.answer(self.command, self.path, headers, body)
                if status >= 400:
                    cloud.refused.append((status, text))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_GET = do_POST = _do

            def log_message(self, *arguments):
                pass

        return Handler


class Aws(Cloud):
    """moto behind a check of signatures (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html)."""

    AUDIENCE = "sts.amazonaws.com"
    REGION = "eu-west-1"
    ADDRESSES = [f"https://sts.{REGION}.amazonaws.com", f"https://secretsmanager.{REGION}.amazonaws.com"]

    def __init__(self, cluster):
        super().__init__(cluster)
        found = subprocess.run([ROOT / "hack/secret-stores", "moto"], capture_output=True, text=True)
        if found.returncode:
            pytest.skip(f"no moto: {found.stderr.strip().splitlines()[-1]}")
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = one.getsockname()[1]
        self.keys = {}
        self.moto = subprocess.Popen([found.stdout.strip(), "-H", "127.0.0.1", "-p", str(self.port)],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/moto-api/").close()
                break
            except OSError:
                time.sleep(0.1)

    def store(self, role):
        return {"provider": {"aws": {"region": self.REGION}}, "auth": {"role": role}}

    def close(self):
        super().close()
        self.moto.terminate()
        self.moto.wait()

    def admin(self, action, **fields):
        """As the owner of the account, past the check."""
        headers = {"X-Amz-Target": f"secretsmanager.{action}", "Content-Type": "application/x-amz-json-1.1",
                   "Authorization": f"AWS4-HMAC-SHA256 Credential=a/20260101/{self.REGION}/secretsmanager/aws4_request, "
                                    "SignedHeaders=host, Signature=0"}
        status, _, text = self.forward("POST", "/", headers, json.dumps(fields).encode())
        assert status == 200, text
        return json.loads(text)

    def put(self, name, **data):
        try:
            return self.admin("CreateSecret", Name=name, SecretString=json.dumps(data),
                              ClientRequestToken=secrets.token_hex(16))["VersionId"]
        except AssertionError:
            return self.admin("PutSecretValue", SecretId=name, SecretString=json.dumps(data),
                              ClientRequestToken=secrets.token_hex(16))["VersionId"]

    def forward(self, method, path, headers, body):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, data=body, headers={
            name: value for name, value in headers.items() if name.lower() not in ("host", "content-length", "connection")})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers.get("Content-Type", ""), answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Content-Type", ""), error.read().decode()

    def signature_is_wrong(self, method, path, headers, body):
        """Why; None: it is right."""
        match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, "
                             r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})", headers.get("authorization", ""))
        if not match:
            return "no signature"
        key_id, day, region, service, names, signature = match.groups()
        if key_id not in self.keys:
            return "unknown key"
        secret, session = self.keys[key_id]
        date = headers.get("x-amz-date", "")
        age = datetime.now(timezone.utc) - datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        if abs(age.total_seconds()) > 900 or not date.startswith(day):
            return "date"
        if (region, service) != (self.REGION, "secretsmanager") or headers.get("x-amz-security-token") != session:
            return "scope or session"
        if not {"host", "x-amz-date", "x-amz-security-token", "x-amz-target"} <= set(names.split(";")):
            return "what has to be signed is not"
        url = urlsplit(path)
        request = "\n".join([method, url.path, url.query,
                             *(f"{name}:{headers[name].strip()}" for name in names.split(";")), "", names, sha256(body)])
        text = "\n".join(["AWS4-HMAC-SHA256", date, f"{day}/{region}/{service}/aws4_request", sha256(request.encode())])
        key = f"AWS4{secret}".encode()
        for part in (day, region, service, "aws4_request"):
            key = sign(key, part)
        return None if hmac.compare_digest(sign(key, text).hex(), signature) else "signature"

    def answer(self, method, path, headers, body):
        form = parse_qs(body.decode()) if "form" in headers.get("content-type", "") else {}
        if form.get("Action") == ["AssumeRoleWithWebIdentity"]:
            self.requests.append("AssumeRoleWithWebIdentity")
            if not self.may_take(form["RoleArn"][0], form["WebIdentityToken"][0]):
                return 403, "text/xml", ("<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized: "
                                         f"{form['WebIdentityToken'][0]}</Message></Error></ErrorResponse>")
            status, kind, text = self.forward(method, path, headers, body)
            taken = {name: re.search(f"<{name}>(.*?)</{name}>", text).group(1)
                     for name in ("AccessKeyId", "SecretAccessKey", "SessionToken")}
            self.keys[taken["AccessKeyId"]] = (taken["SecretAccessKey"], taken["SessionToken"])
            return status, kind, text
        why = self.signature_is_wrong(method, path, headers, body)
        if why:
            return 400, "application/json", json.dumps({"__type": "InvalidSignatureException", "message": why})
        self.requests.append(headers["x-amz-target"].partition(".")[2])
        return self.forward(method, path, headers, body)


class Alicloud(Cloud):
    """KMS and STS. `data` maps a name to its versions, [(id, text)]. A role is one with its provider's ARN."""

    AUDIENCE = "sts.aliyuncs.com"
    REGION = "cn-hangzhou"
    ADDRESSES = [f"https://sts.{REGION}.aliyuncs.com", f"https://kms.{REGION}.aliyuncs.com"]
    PROVIDER = "acs:ram::1:oidc-provider/cluster"

    def __init__(self, cluster):
        super().__init__(cluster)
        self.data, self.keys, self.nonces = {}, {}, set()

    def store(self, role):
        return {"provider": {"alicloud": {"region": self.REGION}}, "auth": {"role": role, "providerArn": self.PROVIDER}}

    def put(self, name, **data):
        versions = self.data.setdefault(name, [])
        versions.append((f"v{len(versions) + 1}", json.dumps(data)))

    def log_in(self, body):
        form = dict(parse_qsl(body.decode()))
        if form["OIDCProviderArn"] != self.PROVIDER or not self.may_take(form["RoleArn"], form["OIDCToken"]):
            return 403, {"Code": "NoPermission", "Message": f"no: {form['OIDCToken']}"}
        key_id, key, token = f"STS.{secrets.token_hex(8)}", secrets.token_hex(16), secrets.token_hex(32)
        self.keys[key_id] = (key, token)
        return 200, {"Credentials": {"AccessKeyId": key_id, "AccessKeySecret": key, "SecurityToken": token}}

    def signature_is_wrong(self, method, path, headers, body):
        """alibabacloud.com/help/en/sdk/product-overview/v3-request-structure-and-signature"""
        match = re.fullmatch(r"ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([a-z0-9;-]+),Signature=([0-9a-f]{64})",
                             headers.get("authorization", ""))
        if not match or match.group(1) not in self.keys:
            return "no signature, or an unknown key"
        key_id, names, signature = match.groups()
        key, token = self.keys[key_id]
        if headers.get("x-acs-security-token") != token or headers["x-acs-signature-nonce"] in self.nonces:
            return "session or nonce"
        self.nonces.add(headers["x-acs-signature-nonce"])
        signed = [name for name in headers if name == "host" or name.startswith("x-acs-")]
        if names != ";".join(sorted(signed)) or headers["x-acs-content-sha256"] != sha256(body):
            return "headers"
        url = urlsplit(path)
        query = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
                         for name, value in sorted(parse_qsl(url.query, keep_blank_values=True)))
        request = "\n".join([method, url.path, query, *(f"{name}:{headers[name].strip()}" for name in names.split(";")),
                             "", names, sha256(body)])
        expected = sign(key.encode(), f"ACS3-HMAC-SHA256\n{sha256(request.encode())}").hex()
        return None if hmac.compare_digest(expected, signature) else "signature"

    def get(self, action, query):
        versions = self.data.get(query["SecretName"])
        if not versions:
            return 404, {"Code": "Forbidden.ResourceNotFound", "Message": "none"}
        if action == "ListSecretVersionIds":
            return 200, {"VersionIds": {"VersionId": [
                {"VersionId": id, "VersionStages": {"VersionStage": ["ACSCurrent"] if id == versions[-1][0] else []}}
                for id, _ in versions]}}
        wanted = query.get("VersionId", versions[-1][0])
        for id, text in versions:
            if id == wanted:
                return 200, {"SecretName": query["SecretName"], "SecretData": text, "SecretDataType": "text", "VersionId": id}
        return 404, {"Code": "Forbidden.ResourceNotFound", "Message": "no such version"}

    def answer(self, method, path, headers, body):
        action = headers.get("x-acs-action")
        self.requests.append(action)
        if action == "AssumeRoleWithOIDC" and headers["x-acs-version"] == "2015-04-01":
            status, said = self.log_in(body)
        else:
            why = self.signature_is_wrong(method, path, headers, body)
            status, said = (400, {"Code": "SignatureDoesNotMatch", "Message": why}) if why else self.get(
                action, dict(parse_qsl(urlsplit(path).query)))
        return status, "application/json", json.dumps(said)


class Azure(Cloud):
    """Entra ID and a Key Vault. A role is the client id of an application."""

    AUDIENCE = "api://AzureADTokenExchange"
    ADDRESSES = ["https://login.microsoftonline.com", "https://team.vault.azure.net"]
    TENANT = "11111111-2222-3333-4444-555555555555"

    def __init__(self, cluster):
        super().__init__(cluster)
        self.data, self.tokens = {}, set()

    def store(self, role):
        return {"provider": {"azure": {"vaultUrl": "https://team.vault.azure.net", "tenantId": self.TENANT}},
                "auth": {"clientId": role}}

    def put(self, name, **data):
        self.data.setdefault(name, []).append((secrets.token_hex(16), json.dumps(data)))

    def log_in(self, path, body):
        form = dict(parse_qsl(body.decode()))
        if (path != f"/{self.TENANT}/oauth2/v2.0/token" or form["grant_type"] != "client_credentials"
                or form["scope"] != "https://vault.azure.net/.default"
                or form["client_assertion_type"] != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
                or not self.may_take(form["client_id"], form["client_assertion"])):
            return 400, {"error": "invalid_client", "error_description": form["client_assertion"]}
        token = base64.urlsafe_b64encode(secrets.token_bytes(30)).decode()
        self.tokens.add(token)
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": 3599}

    def get(self, path, query, headers):
        if headers.get("authorization", "").removeprefix("Bearer ") not in self.tokens:
            return 401, {"error": {"code": "Unauthorized"}}
        _, kind, name, version = path.split("/")
        if kind != "secrets" or query.get("api-version") != "7.4":
            return 400, {"error": {"code": "BadParameter"}}
        for id, text in reversed(self.data.get(name, [])):
            if version in ("", id):
                return 200, {"value": text, "id": f"https://team.vault.azure.net/secrets/{name}/{id}"}
        return 404, {"error": {"code": "SecretNotFound", "message": f"{name} {self.data}"}}

    def answer(self, method, path, headers, body):
        url = urlsplit(path)
        self.requests.append(url.path)
        status, said = self.log_in(url.path, body) if method == "POST" else self.get(
            url.path, dict(parse_qsl(url.query)), headers)
        return status, "application/json", json.dumps(said)
