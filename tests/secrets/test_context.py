"""Secrets that only their context shows, and the ordinary code and prose that looks like them."""

import pytest

from slicebase.secrets.redact import redact

VALUE = "q7Rk2Lw9Xz" + "4Tn8Bv3Mc6Hd1"
PASSWORD = "hunter" + "2!x"


@pytest.mark.parametrize(
    "frame",
    [
        'api_key = "{}"',
        "API_KEY={}",
        "export API_TOKEN={}",
        "apiKey: '{}',",
        '"client_secret": "{}"',
        '{{\\"token\\":\\"{}\\"}}',
        "config['auth_token'] = '{}'",
        "  secret_key: {}",
        "--api-key {}",
        "--token={}",
        "Authorization: Bearer {}",
        "authorization: bearer {}",
        "AUTHORIZATION: TOKEN {}",
        "-H 'Authorization: Basic {}'",
        'setHeader("x-api-key", "{}")',
        "<apiKey>{}</apiKey>",
        "AWS_SECRET_ACCESS_KEY: {}",
        "?access_token={}&x=1",
        "ADAFRUIT_IO = '{}'",
        '"heroku": "{}"',
        "mailgun.key => '{}'",
        "token:={}",
        "let TOKEN = `{}`;",
        "api key: {}",
        "**API Key:** {}",
        "**API Key**: {}",
        "| API key | {} |",
        "Cookie: session={}",
        "Set-Cookie: a=b; connect.sid={}; Path=/",
        '{{"auths": {{"x": {{"auth": "{}"}}}}}}',
        "//registry.example.org/:_auth={}",
        'Config::api_key = "{}"',
        '"api_key":\n    "{}"',
        "  token: >-\r\n    {}\n",
        "secret_key =\n    '{}'",
        "Cookie: " + "theme=dark; " * 40 + "session={}; lang=en",
        '-H "Cookie: cookie_law=seen; ' + "a=b; " * 60 + 'sid={}"',
        '{{"Set-Cookie": "' + "a=b; " * 60 + 'sid={}"}}',
    ],
)
def test_the_value_of_a_name_that_promises_a_secret_is_replaced(frame: str) -> None:
    found = redact(frame.format(VALUE))
    assert VALUE not in found.text
    assert sum(found.counts.values()) == 1
    assert redact(found.text).text == found.text


@pytest.mark.parametrize(
    "frame",
    [
        'password = "{}"',
        '"password":"{}"',
        '\\"passwd\\": \\"{}\\"',
        "pwd='{}'",
        "DB_PASSWORD={}",
        "password: {}",
        "--password {} ",
        "<password>{}</password>",
        '<add key="Password" value="{}" />',
        "postgres://app:{}@db.example.org/shop",
        "curl -u me:{} https://example.org",
        'root_password: "{}"',
        "Server=a;User Id=b;Password={};Database=c",
        "The password is '{}'.",
        "machine example.org login me password {}\n",
        "mysql --password={} -h db",
        "PGPASSWORD={} psql",
        "MYSQL_PWD={} mysqldump shop",
        "docker run -e POSTGRES_PASSWORD={} image",
        "Server=a;User Id=b;Password={}",
        "jdbc:mysql://db/shop?user=me&password={}",
        "username=me&password={}",
        "username=me&password={}&x=1",
        "host=db user=me password={} dbname=shop",
        "password={} dbname=shop",
        "password = {}",
        "password:{}",
        "SMTP_PASS={}",
        "ansible_become_pass: {}",
        'const password: string = "{}"',
        "ALTER USER me WITH PASSWORD '{}';",
        "CREATE USER me IDENTIFIED BY '{}';",
        "curl -ume:{} https://example.org",
        "curl.exe -u me:{} https://example.org",
        "curl -sSu me:{} https://example.org",
        '"password":\n    "{}"',
        "password =\r\n\t'{}'",
        "password: |\n  {}\n",
        "password: >-\n    {}",
    ],
)
def test_a_password_is_replaced_with_its_symbols(frame: str) -> None:
    found = redact(frame.format(PASSWORD))
    assert PASSWORD not in found.text
    assert "!x" not in found.text
    assert sum(found.counts.values()) == 1


@pytest.mark.parametrize(
    "text",
    [
        'api_key = "xxxxxxxxxxxxxxxxxxxxxxxx"',
        'token = "<your-token-here-1234567890>"',
        "token: ${GITHUB_TOKEN_2_FOR_CI}",
        'token = os.environ["GITHUB_TOKEN_2_ENV"]',
        "api_key = generate_api_key_v2_for(user)",
        "password = getpass.getpass()",
        'password = "password"',
        "password=passwd",
        "password: str = ''",
        'pwd = "/home/user1/project"',
        "PWD=/home/user1/x",
        "commit_id = 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c",
        'token_count = "12345678901234567890"',
        'tokenizer = "cl100k_base_tokenizer_2_v1"',
        "max_tokens: 4096000000000000",
        '"NextToken": "EJwY21GMGFXOXVJanA3SW5Ocm1pc3Npb25zIjpmYWxzZX0="',
        'nextPageToken: "CAUQAA8fKq2Lz7Rt9Wp3"',
        '"lock_token": "e3db7e2c-d58b-4ee6-8346-6aec5511c6fb"',
        "continuation-token=1ueGcxLPRx1Tr8XYExHnhbYLgveDs2Jv",
        '"PasswordLastUsed": "2016-09-24T16:18:07Z"',
        "open('test-8000Hz-le-3ch-5S-24bit-rf64.wav')",
        'session_id: "00000000-0000-4000-8000-000000000001"',
        "postgres://user:${PASSWORD}@host",
        "postgres://user:password@host",
        "git@github.com:org/repo.git",
        "see http://localhost:8080/@scope/package",
        'secret_name = "prod/db/main_user_2_name"',
        "https://github.com/a/b/commit/3f786850e387550fdab836ed7e6dc881de23001b",
        "token = token2_from_the_parser_of_names",
        'def login(user, password="", token=None):',
        "The password must have 8 characters or more.",
        'key="python3.11"',
        "https://foo.example:123,foo:bar1@host",
        "password = user2_password",
        "password = self.password2",
        "password:str=None",
        'first_pass = "shadow1!x"',
        "_, bypass = run_pass2(tree, 10)",
        "f(password=password2, dbname=name)",
        "url + '&password=' + password2",
        "const password: string = readPassword2();",
        "The words 'identified by' 'x1y2z3' are SQL.",
        "curl -uri https://example.org:8080/x",
        "x = a * b0c1d2e3f4a5b6c7d8",
        "the key of the api key store: 9",
        "cookie_name=0123456789abcdef0123",
        f"token:\n    {VALUE}",
        '"AWS::ApiGateway::ApiKey": "48205d4ffd7feba3"',
        f"api_key = [\n    '{VALUE}'",
        f"password:\n    {PASSWORD}",
        "if password:\n    return user2",
        f"Cookie: a=b\n{'a=b; ' * 40}; sid={VALUE}",
        f'a cookie: "yes" {"and more; " * 20}; sid={VALUE}',
    ],
)
def test_ordinary_code_and_prose_is_kept(text: str) -> None:
    assert redact(text).text is text


@pytest.mark.parametrize("scheme", ["Bearer", "BASIC", "token"])
def test_an_authorization_header_may_be_short(scheme: str) -> None:
    assert (
        redact(f'-H "Authorization: {scheme} mF_9.B5f"').text
        == f'-H "Authorization: {scheme} [redacted:authorization-header]"'
    )
    assert redact(f"Authorization: {scheme} authentication").counts == {}
