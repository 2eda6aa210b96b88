"""What looks like a secret's place and gives none: commands, code, messages, labels, tables of types."""

# ruff: noqa: E501 (one case is one piece of text)

from __future__ import annotations

import json

import pytest

from recollect.redact import redact

LOOK_ALIKES = (
    'docker run -p 8080:80 -e PORT=80 nginx', 'mkdir -p src/redact/places',
    'git add -A && git commit -m "password reset"', 'curl -X POST -A "Mozilla/5.0" https://x.local/login',
    'python -m pytest -p no:cacheprovider tests', 'psql -U postgres -p 5433 harbor', 'mysql -u root -p',
    'mysql -u root -p harbor < dump.sql', 'redis-cli -p 6380 ping', 'openssl enc -k $PASS -in a', 'passwd ada',
    'sudo passwd root', 'net user /domain', 'net use Z: /delete', 'vault kv get secret/db', 'vault status',
    'bw unlock --check', 'bw login --apikey', 'bundle config set --local path vendor/bundle',
    'bundle config set --local without development', 'npm config set registry https://registry.local/',
    'git config --global user.name Ada', 'snyk auth', 'redis-cli AUTH --help', 'rclone config show',
    'rclone config create mybox webdav url https://x', 'db2 connect to sample', 'useradd -m ada',
    'usermod -aG docker ada', 'helm upgrade --install x ./x --set image.tag=latest',
    'kubectl create secret generic db --from-file=./secret.txt', 'aws secretsmanager get-secret-value --secret-id db',
    'docker secret ls', 'gh secret list', 'gh secret set DB_PASSWORD < file.txt',
    'terraform apply -var-file=prod.tfvars', 'ansible-vault edit group_vars/all.yml',
    'ansible-playbook site.yml --ask-become-pass', 'htpasswd -c .htpasswd ada', 'curl -u "$USER:$PASS" https://x',
    'curl -u ada: https://x', 'curl --user ada https://x', '--password TEXT  Password to use',
    '  --password string   the password of the user', '  --token TOKEN       access token',
    '  -p, --password\n      Prompt for a password', 'usage: app [--user USER] [--password PASSWORD]',
    'options:\n  --secret SECRET  the secret\n  --port PORT', '"--password", "--user", "--port"',
    '["--token", "--verbose"]', 'args:\n- --password-file\n- /run/secrets/db', 'Password: \nLogin incorrect',
    'Password: ********', 'New password: \nRetype new password:', 'Password: must be at least 8 characters',
    'Password: enter at least one digit', 'password: string', 'password: String,', 'password: Option<String>,',
    'password: Some(String::new()),', 'password: SecretStr', 'password: SecretStr = Field(...)',
    'password = SecretStr(os.environ["X"])', 'password: ["required", "string", "min:8"]',
    "'password' => ['required', 'confirmed', 'min:8'],", '"password": {"type": "string", "minLength": 8}',
    '"password": {"value": ""}', '"token": {"type": "string"}', 'tokens: [1, 2, 3]',
    '"tokens": ["the", "quick", "brown", "fox"]', 'tokens = ["hello", "world", "example"]',
    'keys: ["name", "email", "address"]', 'secrets: ["DB_URL", "API_TOKEN"]',
    'secrets:\n  - db_password\n  - api_token', 'passwords:\n  - {{ vault_one }}', '{Host:db User:app Port:5432}',
    '{password:hashed,user:name}', '{ user: u, password: p, remember: true }', 'const {user, password} = req.body;',
    '({ password: hashed, salt }) => hashed', 'user=user, password=password, host=host',
    '    user=user, password=hashed,', 'User(name=name, password=hashed)',
    'connect(host=host, password=settings.password)', 'this.password=password;', 'self.password = hashed',
    'user.password=hashed', 'req.body.password = undefined', 'obj.token = next_token', 'password = sys.argv[1]',
    'password=$1', 'password=$(cat /run/secrets/db)', 'db.password=${DB_PASSWORD}',
    'spring.datasource.password-file=/run/secrets/db', 'wpa_passphrase=$PASS', 'PWD=/home/ada/src',
    'PWD=/work\nUSER=ada\nHOST=box', 'OLDPWD=/tmp', 'pwd = Path.cwd()', 'pwd = getcwd()',
    "| Option | Description |\n|---|---|\n| password | The user's password |",
    '| Field | Type |\n|---|---|\n| username | string |\n| password | string |',
    '| name | password |\n|---|---|\n| ada | encrypted |', '| token | The access token |', '| Secret | Required |',
    '| key | value |\n|---|---|\n| lang | en |',
    '+----------+---------+\n| Field    | Type    |\n+----------+---------+\n| password | varchar(255) |\n+----------+---------+',
    ' password | character varying(255) | not null', 'NAME   TYPE     DATA   AGE\ndb     Opaque   2      5d',
    'NAME      SECRETS   AGE\ndefault   1         5d', 'user,password\n,', 'id,name,token_count\n1,gpt,1500',
    'prompt_tokens,completion_tokens\n10,20', 'password: Mot de passe', 'password: Passwort vergessen',
    'password: New password', 'password: "Neues Passwort"', 'label: Password\nplaceholder: Enter your password',
    'The password is required.', 'the password from the vault',
    'changed password from the settings page to the profile page', 'The secret to success is work',
    'set the password to something strong', 'set the password to the one you chose',
    'with password authentication disabled', 'and password reset emails', 'using password hashing',
    'log in with username and password', 'identified by their email', 'users are identified by "name"',
    "GRANT ALL ON app.* TO 'app'@'%';", 'ALTER TABLE users ADD COLUMN password text NOT NULL;',
    'INSERT INTO users (name, password) VALUES (?, ?), (?, ?)', "INSERT INTO t (a, b) VALUES ('x', 'yellow')",
    "SELECT password FROM users WHERE name = 'marigold'", "UPDATE users SET password = crypt($1, gen_salt('bf'))",
    'credentials: file:aws.json', 'credentials: same-origin', 'creds: none', 'login: github/oauth',
    'Credentials: include', 'Basic usage of the tool', 'Basic authentication is off', 'Basic YWJjZGVm',
    'Authorization: Basic $TOKEN', 'oauth: enabled', 't1.column = t2.column_name.other',
    '"x-api-key": ["YOUR_API_KEY"]', '"x-auth-token": ["<token>"]', 'secret "my-app-tls" not found',
    'secret: my-tls-secret', 'secretName: harbor-tls', 'existingSecret: pg-auth',
    'secretKeyRef:\n  name: db\n  key: password', "storePassword keystoreProperties['storePassword']",
    'UserPassword *string `json:"x"`', 'old_password new_password', 'user_password text', '    auth_password varchar',
    'createUser ada', 'net user add', 'psk = None', 'psk: str', 'kind: Secret\nstringData:\n  config: ${CONFIG}',
    'echo hello world | sudo tee /etc/motd', 'echo "done" | tee log.txt', 'echo yes | passwd --help',
    'printf \'%s\\n\' "$PASS" | docker login --password-stdin', 'cat <<< "hello world"', 'kinit ada',
    'su - postgres -c psql', 'ssh.connect(host, username=user)', 'signal.connect("clicked", "button", "handler")',
    "app.login('ada', password)", 'WiFi.begin(ssid, password);', 'PASS tests/unit/a.test.ts',
    'PASS  src/login.test.js', 'USER node\nWORKDIR /app', 'LOGIN failed for user ada', 'AUTH failed',
    'user ada on host db', 'bitcoin address 1BoatSLRHtKNngkdXEeobR76b53LETtpyT', 'L1234567890', 'KEY5Jabc',
)  # fmt: skip


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_only_looks_alike_stays(text: str) -> None:
    assert redact(text).text == text


def test_it_stays_inside_json_too() -> None:
    held = json.dumps({"output": list(LOOK_ALIKES)})
    assert redact(held).text == held
    each = [json.dumps({"output": text, "exit": 0}) for text in LOOK_ALIKES]
    assert [text for text in each if redact(text).text != text] == []
