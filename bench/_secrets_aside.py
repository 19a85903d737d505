"""Shapes of secrets from public documentation, in two sets that were written down after the rules of issuers.

They are the shapes that the rules of two other public scanners (Kingfisher, Nosey Parker) document. The first set
showed what was missing in general (keys that name themselves, connection strings, short headers), and was used for
that. The second set was written down after that. One change came later, names that end in `key`: before it, 76 % of the
samples of the second set that are pasted were replaced, and as many of those alone as now.
Later still, rules for five shapes of the first set, and for issuers that neither set was read for, were added.

A shape is a line as people write it, where {} is the key, and a pattern in the syntax of `slicebase.secrets.pattern`.
"""

from typing import Final

_AIKIDO: Final = "AIK_(?:CI_[A-Za-z0-9]{32}|SECRET_[A-Za-z0-9]{64})"
_HEX: Final = "[0-9a-f]"
FIRST_ALONE: Final = {
    "aikido": _AIKIDO,
    "arcjet": "ajkey_[a-z0-9]{26}",
    "browserbase": r"bb_(?:live|test)_[\w-]{27}",
    "buildkite": "bkua_[a-z0-9]{40}",
    "cal.com": "cal_(?:live_)?[A-Za-z0-9]{32}",
    "composio": r"[ac]k_[\w-]{20}",
    "cartesia": r"sk_car_\w{20}",
    "circleci": "CCI(?:PAT|PRJ)_[A-Za-z0-9]{22}_[a-f0-9]{40}",
    "stackhawk": r"hawk\.[\w-]{20}\.[\w-]{20}",
    "dependency-track": "odt_[A-Za-z0-9]{32}",
    "pyx user": "sk-pyx-[A-Za-z0-9]{64}",
    "pyx publisher": "tp-pyx-[A-Za-z0-9]{64}",
}
FIRST_PASTED: Final = {
    "AIKIDO_TOKEN={}": _AIKIDO,
    'ARCJET_KEY="{}"': "ajkey_[a-z0-9]{26}",
    'browserbaseApiKey: "{}"': r"bb_(?:live|test)_[\w-]{27}",
    "Authorization: Bearer {}": "cal_live_[A-Za-z0-9]{32}",
    "composio x-api-key: {}": r"ak_[\w-]{20}",
    '"x-consumer-api-key": "{}"': r"ck_[\w-]{20}",
    "CARTESIA_API_KEY={}": r"sk_car_\w{20}",
    "circleci_project_secret = '{}'": f"{_HEX}{{40}}",
    "CIRCLECI_API_TOKEN: {}": f"{_HEX}{{40}}",
    'HAWK_API_KEY="{}"': r"hawk\.[\w-]{20}\.[\w-]{20}",
    'username="__token__", password="{}"': "tp-pyx-2[A-Za-z]{45}",
    'private static String CLIENT_SECRET = "{}";': f"{_HEX}{{40}}",
    "client_credential='{}'": r"[A-Za-z0-9]{3}\dQ~[A-Za-z0-9.-]{34}",
    "secret_access_key = '{}'": "[a-z]{7}[0-9]{5}[+][A-Z]{5}",
    "    Ldap password               ----   {}": "[A-Z]{5}[0-9]{2}R#@4[$]",
    "buildConfigField 'String' , 'API_KEY' , '\"{}\"'": f"{_HEX}{{32}}",
    "          password='{}',": "1qay@WXS[a-z]{2}[?]{4}",
    "      PASS = '{}'": "`[0-9]{3}QWER[a-z]{4}",
    "password = '{}'  # some other comment": "abuser[0-9]{6}",
    'my_password := "{}"': "super[$]ecret",
    "'vm_password': \"{}\",": "Pass[0-9]{3}!@#",
    ":password       => '{}',": "[0-9][a-z]{3}[0-9]{4}",
    "username: 'geronimo', password: '{}'}});": "[0-9]{2}[A-Za-z]{12}5yM",
    'NetworkCredential("cidownload", "{}");': "AP7[A-Za-z0-9]{24}",
    '<add key="FromEmailPassword" value="{}"/>': "Prestig[a-z]{6}[$]",
    "User ID=b2buser;Password={};Trusted_Connection=False": "#gets0m[0-9]",
    "echo \"The password is '{}'\"": "Secret[0-9]{3}",
    '{{"method":"auth.login_with_api_key", "params":["{}"]}}': "8-[A-Za-z0-9]{64}",
    '-H "Authorization: Bearer {}" -d "SERIAL"': "8-[A-Za-z0-9]{64}",
    "machine api.github.com login ziggy password {}": f"{_HEX}{{12}}",
    "Authorization: Basic {}": "QWxhZGRpbjpvcGVu[A-Za-z0-9]{10}==",
    "Authorization: Bearer {}\n": r"mF_9\.B5f-4\.1Jq[A-Z]",
    "Server=host;Port=5432;User Id=u;Password={};Database=d;": "[a-z]{4}[0-9]{4}",
    'password= {}" providerName=': "sK!g2Ex_=jJ6Gx[0-9]v",
    "jenkins_passwd = '{}'   # Dev Token": f"11{_HEX}{{32}}",
    "export JENKINS_TOKEN={}": f"11{_HEX}{{32}}",
    "-H 'Jenkins-Crumb:{}'": f"{_HEX}{{32}}",
    'readonly static string jenkinsToken = "{}";': f"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}",
    "PrivateKey = {}": "[A-Za-z0-9+/]{43}=",
    "PresharedKey = {}": "[A-Za-z0-9+/]{43}=",
    "curl https://api.particle.io/v1/devices -d access_token={}": f"{_HEX}{{40}}",
    'curl "https://api.particle.io/v1/devices/events?access_token={}"': f"{_HEX}{{40}}",
    "https://eaRIWNkE:{}@j2LYY414Q5cCYD": "[A-Za-z]{8}",
}
SECOND_ALONE: Final = {
    "crossmint server": "sk_(?:staging|production)_[A-Za-z0-9]{32}",
    "crossmint client": "ck_(?:staging|production)_[A-Za-z0-9]{32}",
    "builder.io": "bpk-[a-f0-9]{32}",
    "canva": r"cnvca[\w-]{51}",
    "block protocol": r"b10ck5\.[A-Za-z0-9]{32}\.[A-Za-z0-9]{36}",
    "configcat": r"configcat-sdk-1/[\w-]{22}/[\w-]{22}",
    "close": r"api_[A-Za-z0-9]{22}\.[A-Za-z0-9]{22}",
    "clickup": r"pk_\d{8,9}_[0-9A-Z]{32}",
    "carto": r"eyJhbGciOiJIUzI1NiJ9\.eyJ[\w-]{40}\.[\w-]{43}",
}
SECOND_PASTED: Final = {
    "CROSSMINT_SECRET_KEY={}": "sk_production_[A-Za-z0-9]{32}",
    "crossmint x-api-key: {}": "sk_staging_[A-Za-z0-9]{30}",
    "CROSSMINT_CLIENT_KEY={}": "ck_production_[A-Za-z0-9]{32}",
    "BUILDER_PRIVATE_KEY={}": "bpk-[a-f0-9]{32}",
    'builder_key: "{}"': "bpk-[a-f0-9]{32}",
    "CANVA_CLIENT_SECRET={}": r"cnvca[\w-]{51}",
    "BLOCK_PROTOCOL_API_KEY={}": r"b10ck5\.[A-Za-z0-9]{32}\.[A-Za-z0-9]{36}",
    "CONFIGCAT_SDK_KEY={}": r"[\w-]{22}/[\w-]{22}",
    'configcat_key: "{}"': r"[\w-]{22}/[\w-]{22}",
    "CLOSE_API_KEY={}": r"api_[A-Za-z0-9]{22}\.[A-Za-z0-9]{22}",
    'close_key: "{}"': r"api_[A-Za-z0-9]{20}\.[A-Za-z0-9]{20}",
    "BITRISE_TOKEN={}": r"[\w-]{66}",
    "CLICKUP_API_TOKEN={}": r"pk_\d{9}_[0-9A-Z]{32}",
    "AIRBYTE_CLIENT_SECRET={}": "[A-Za-z0-9]{32}",
    'airbyte client_secret: "{}"': "[A-Za-z0-9]{32}",
    'civo_api_token = "{}"': "[a-z0-9]{50}",
    '"user_12345678-1234-1234-1234-123456789012_token_apiKeyClientSecret": "{}"': "[A-Za-z0-9]{46}",
}
