r"""Keys that their issuers made recognisable: a table of names and patterns (`pattern` has the syntax).

A line is a name, the pattern, and words that say more about it:

- `anchor=TEXT`: every match contains this text; needed where the first three characters can be anything.
- `whole`: a match begins only where a run of letters, digits, `_` and `-` begins, not after a `-` inside of one. It is
  needed for a pattern with a long repetition in the middle.
- `mixed`: the prefix alone says little, so a match must also look random (`shape.looks_random`).
- `alone`: a match neither follows `/` or `+` nor precedes `/`, `+` or `=`: there it is a part of a longer base64.
- `glued`: nothing else begins like this, so a match may also begin inside of a word: `tokenghp_…`, `my_ghp_…`.

A match is never followed by a further letter, digit or `_`.
"""

from base64 import b64encode
from typing import Final

# A Discord token begins with the base64 of the bot's number: two digits decide its first three characters.
_DISCORD: Final = "|".join(sorted({b64encode(f"{number:02}0".encode())[:3].decode() for number in range(100)}))

ISSUED: Final = r"""
# clouds and hosting
aws-access-key         (?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}  glued
aws-bedrock-key        ABSK[A-Za-z0-9+/]{100,}={0,2}  mixed
aws-bedrock-key        bedrock-api-key-YmVk[A-Za-z0-9+/=_-]{20,}
aws-mws-key            amzn\.mws\.[0-9a-f-]{30,}
google-api-key         AIza[\w-]{35}  glued
google-oauth-secret    GOCSPX-[\w-]{28}  glued
google-oauth-token     ya29\.[\w.-]{20,}
google-refresh-token   1//0[\w-]{40,}
azure-client-secret    [\w~.]{3}\dQ~[\w~.-]{31,34}  anchor=Q~
azure-devops-token     [A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}  anchor=AZDO
azure-function-key     [\w-]{44}AzFu[\w-]{4,}={0,2}  anchor=AzFu
azure-storage-key      AccountKey=(?P<secret>[A-Za-z0-9+/]{80,}={0,2})
azure-sas              SharedAccessKey=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})
azure-sas              sig=(?P<secret>[A-Za-z0-9%+/]{40,}={0,2})  mixed
alibaba-key            LTAI[A-Za-z0-9]{12,30}  mixed
tencent-key            AKID[A-Za-z0-9]{32}
ibm-cloud-key          ApiKey-[0-9a-f-]{36}
digitalocean-token     do[opr]_v1_[a-f0-9]{64}  glued
hetzner-token          hcloud_[A-Za-z0-9]{40,}
scaleway-key           SCW[A-Z0-9]{17}  mixed
scalingo-token         tk-us-[\w-]{48}  mixed
heroku-key             HRKU-[\w-]{36,}
vercel-token           vc[apkir]_[A-Za-z0-9]{24,}  mixed
vercel-blob            vercel_blob_rw_[A-Za-z0-9_]{20,}
netlify-token          nf[pcoub]_[A-Za-z0-9]{36,}  mixed
render-key             rnd_[A-Za-z0-9]{28,}  mixed
flyio-token            (?:fo1_[\w-]{43}|fm1[ar]_[A-Za-z0-9+/]{100}|fm2_[A-Za-z0-9+/]{100})[A-Za-z0-9+/=,_-]{0,}
railway-token          railway_[A-Za-z0-9-]{32,}  mixed
cloudflare-ca-key      v1\.0-[a-f0-9]{24}-[a-f0-9]{146}
cloudflare-token       cf(?:ut|at|k)_[\w-]{36,}
fastly-token           fastly_[\w-]{30,}  mixed
supabase-key           (?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20})[\w-]{0,}
neon-key               napi_[a-z0-9]{40,}  mixed
planetscale-token      pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}
clickhouse-key         4b1d[A-Za-z0-9]{38}  mixed
mongodb-atlas-key      mdb_sa_sk_[\w-]{30,}
aiven-token            AVNS_[\w-]{19}
databricks-token       dapi[a-f0-9]{32}(?:-\d)?
databricks-token       dose[a-f0-9]{32}(?:-\d)?
snowflake-token        ver:\d{1,3}-hint:\d{1,20}-[\w+/=-]{40,}  mixed
upstash-key            upstash_[A-Za-z0-9]{30,}  mixed
pinecone-key           pcsk_[A-Za-z0-9_]{40,}
tailscale-key          tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{6,20}-[A-Za-z0-9]{20,}
ngrok-token            ak_[A-Za-z0-9]{27}  mixed
zerossl-key            zssl_[A-Za-z0-9]{20,}  mixed
# code, packages, deployment
github-token           gh[pousr]_[A-Za-z0-9]{36,}  glued
github-token           ghs_[\w.-]{60,}  glued
github-token           github_pat_[A-Za-z0-9_]{36,}  glued
gitlab-token           gl(?:pat|dt|rtr|rt|ptt|cbt|oas|ft|imt|soat|agent|ffct|wt|pt)-[\w.-]{20,}  glued
gitlab-token           GR1348941[\w-]{20,}
gitlab-session         _gitlab_session=(?P<secret>[0-9a-z]{32})
bitbucket-token        ATBB[A-Za-z0-9]{24,}
atlassian-token        AT(?:ATT|CTT|STT|CAT)[3x][\w=-]{60,}
npm-token              npm_[A-Za-z0-9]{36}  glued
pypi-token             pypi-AgE[\w-]{50,}  glued
rubygems-key           rubygems_[a-f0-9]{48}
crates-token           cio[A-Za-z0-9]{32}  mixed
nuget-key              oy2[a-z0-9]{43}  mixed
clojars-token          (?:CLOJARS|clojars)_[A-Za-z0-9]{60}
hex-key                hex_[a-f0-9]{32}  mixed
packagist-token        packagist_(?:uut|ort|out)_[A-Za-z0-9]{40,}
docker-token           dckr_[po]at_[\w-]{27,}
artifactory-key        AKCp[A-Za-z0-9]{69}
artifactory-token      cmVmd[A-Za-z0-9]{59}  mixed
terraform-token        [A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}  anchor=.atlasv1.
vault-token            hv[sbr]\.[\w-]{24,}
vault-token            s\.(?P<secret>[A-Za-z0-9]{24})  mixed
doppler-token          dp\.(?:pt|ct|st|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}
infisical-token        st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}
1password-token        ops_eyJ[A-Za-z0-9+/_-]{60,}={0,3}
1password-key          A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}
age-key                AGE-SECRET-KEY-1[0-9A-Z]{58}
age-key                AGE-PLUGIN-[A-Z0-9-]{30,}  mixed
pulumi-token           pul-[a-f0-9]{40}
prefect-token          pn[ub]_[A-Za-z0-9]{36}
buildkite-token        bk(?:ua|at|ct|aj|pi)_[A-Za-z0-9]{30,}
circleci-token         CCI(?:PAT|PRJ)_[A-Za-z0-9_]{20,}
travis-token           travis_[A-Za-z0-9]{20,}  mixed
codeclimate-token      cc_[A-Za-z0-9]{40,}  mixed
sonar-token            sq[upa]_[a-f0-9]{40}
snyk-token             snyk_(?:uat|sat)\.[\w.-]{20,}  mixed
semgrep-token          sgp_[a-f0-9]{64}
sourcegraph-token      sg[pds]_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}
sourcegraph-token      slk_[a-f0-9]{64}
octopus-key            API-[A-Z0-9]{26,}  mixed
harness-key            [ps]at\.[\w-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}
launchdarkly-key       (?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
openshift-token        sha256~[\w-]{43}
jfrog-token            eyJ2ZXIiOi[\w-]{20,60000}\.[\w-]{20,60000}\.[\w-]{20,}  whole
replit-token           (?:replit|repl)_[\w-]{30,}  mixed
deno-token             dd[pwo]_[A-Za-z0-9]{36,}
expo-token             expo_[\w-]{30,}  mixed
figma-token            fig[dour]_[\w-]{36,}
postman-key            PMAK-[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}
readme-key             rdme_[a-z0-9]{70,}
# models
anthropic-key          sk-ant-[a-z]{3,8}\d\d-[\w-]{20,}  glued
openrouter-key         sk-or-v1-[a-f0-9]{64}
openai-key             sk-(?:proj|svcacct|admin|None|service)-[\w-]{20,}  glued
openai-key             sk-[A-Za-z0-9]{32,}
openai-key             sess-[A-Za-z0-9]{40}  mixed
huggingface-token      (?:hf|api_org)_[A-Za-z0-9]{34,}
groq-key               gsk_[A-Za-z0-9]{52}
xai-key                xai-[A-Za-z0-9]{70,}
perplexity-key         pplx-[A-Za-z0-9]{40,}
replicate-token        r8_[A-Za-z0-9]{37,}
together-key           tgp_v1_[\w-]{40,}
fireworks-key          fw_[A-Za-z0-9]{22,}  mixed
cerebras-key           csk-[a-z0-9]{48}  mixed
nvidia-key             nvapi-[\w-]{60,}
elevenlabs-key         sk_[a-f0-9]{48}
deepgram-key           dg_[A-Za-z0-9]{40}  mixed
langsmith-key          lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}
langfuse-key           [sp]k-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
wandb-key              wandb_v1_[\w-]{40,}
tavily-key             tvly-(?:dev-|prod-)?[A-Za-z0-9-]{20,}
firecrawl-key          fc-[a-f0-9]{32}
voyage-key             pa-[\w-]{43}  mixed
jina-key               jina_[a-f0-9]{32}[\w-]{28,}  mixed
mem0-key               m0-[A-Za-z0-9]{36,}  mixed
e2b-key                e2b_[a-f0-9]{40}
apify-token            apify_api_[A-Za-z0-9]{30,}
# money
stripe-key             [sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}  glued
stripe-key             sk_org_(?:live|test)_[A-Za-z0-9]{16,}
webhook-secret         whsec_[A-Za-z0-9+/]{24,}={0,2}
square-token           sq0[a-z]{3}-[\w-]{22,}
square-token           EAAA[\w-]{22,60}  mixed alone
facebook-token         EAA[A-Za-z0-9]{80,}  mixed alone
facebook-app-token     \d{15,16}\|[\w-]{27,40}  anchor=|
facebook-app-token     \d{15,16}%[\w-]{27,40}  anchor=%
shopify-token          shp(?:at|ca|pa|ss|ua|tka)_[a-fA-F0-9]{32}  glued
shippo-token           shippo_(?:live|test)_[a-fA-F0-9]{40}
easypost-key           EZ[AT]K[A-Za-z0-9]{54}
flutterwave-key        FLW(?:SECK|PUBK)(?:_TEST)?-[A-Za-z0-9]{12,40}(?:-X)?
razorpay-key           rzp_(?:live|test)_[A-Za-z0-9]{14,}
plaid-token            access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f-]{27}
paypal-token           access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$(?P<secret>[0-9a-f]{32})
mollie-key             (?:live|test)_[A-Za-z0-9]{30,}  mixed
lob-key                (?:live|test)_(?:pub_)?[a-f0-9]{31,35}  mixed
gocardless-token       (?:live|sandbox)_[\w=-]{40}  mixed
duffel-token           duffel_(?:test|live)_[\w=-]{40,}
coinbase-key           organizations/[0-9a-f-]{36}/apiKeys/(?P<secret>[0-9a-f-]{36})
settlemint-token       sm_[aps]at_[A-Za-z0-9]{16}
# messages and mail
slack-token            xox[abcdeoprs]-[A-Za-z0-9-]{11,}  glued
slack-token            xoxe\.xox[bp]-\d-[A-Za-z0-9]{100,}
slack-token            xapp-\d-[A-Za-z0-9]{4,30}-\d{4,30}-[A-Za-z0-9]{1,}  glued
slack-webhook          hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{20,})
teams-webhook          webhook\.office\.com/webhookb2/(?P<secret>[\w@/-]{60,})
discord-token          (?:@DISCORD@)[\w-]{21,25}\.[\w-]{6}\.[\w-]{27,40}
discord-webhook        discord(?:app)?\.com/api/webhooks/\d{5,25}/(?P<secret>[\w-]{60,})
telegram-token         \d{5,16}:A[A-Za-z0-9_-]{34}  anchor=:A
twilio-key             SK[0-9a-fA-F]{32}
twilio-account         AC[0-9a-f]{32}  mixed
sendgrid-key           SG\.[\w=.-]{60,}
sendinblue-key         xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}
sendinblue-key         xsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}
mailgun-key            (?:pub)?key-[0-9a-fA-F]{32}  mixed
mailchimp-key          [0-9a-fA-F]{32}-us\d{1,2}  anchor=-us
mandrill-key           md-[A-Za-z0-9_-]{22}  mixed
resend-key             re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}
postmark-token         pm_[a-f0-9-]{36}
courier-key            pk_(?:prod|test)_[A-Z0-9]{28}
# services
airtable-token         pat[A-Za-z0-9]{14}\.[a-f0-9]{64}
asana-token            [12]/\d{13,20}(?:/\d{13,20})?:[0-9a-f]{32}
linear-key             lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}
notion-token           (?:ntn|secret)_[A-Za-z0-9]{40,}  mixed
hubspot-token          pat-(?:na|eu)\d-[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}
newrelic-key           NR(?:AK|JS|II|RA|AL|SP|BR)-[A-Za-z0-9-]{19,}
sentry-token           sntry[sui]_[A-Za-z0-9+/_=]{60,}
grafana-token          glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}
grafana-token          glc_[A-Za-z0-9+/]{32,}={0,3}
grafana-key            eyJrIjoi[A-Za-z0-9+/]{60,}={0,3}
dynatrace-token        dt0[a-z]\d\d\.[A-Z0-9a-z]{8,24}\.[A-Za-z0-9]{64}
posthog-key            ph[cxs]_[A-Za-z0-9]{40,}
honeycomb-key          hc[abx]ik_[A-Za-z0-9]{50,}
mapbox-token           [sp]k\.[A-Za-z0-9]{60}\.[A-Za-z0-9]{22}
maxmind-key            [A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk  anchor=_mmk
typeform-token         tfp_[\w=.-]{40,}
contentful-token       CFPAT-[\w-]{43,}
storyblok-token        sb-[A-Za-z0-9]{30,}  mixed
frameio-token          fio-u-[\w=-]{60,}
intra42-secret         s-s4t2(?:ud|af)-[A-Fa-f0-9]{64}
adobe-secret           p8e-[A-Za-z0-9]{32}
authress-key  (?:scauth|sc|ext|authress)_[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[\w+/=-]{9,}
defined-key            dnkey-[\w=-]{26,}
yandex-key             AQVN[\w-]{35,38}  mixed
yandex-token           t1\.[\w-]{20,400}={0,2}\.[\w-]{86}={0,2}
yandex-token           y[0-3]_[\w-]{50,}
dropbox-token          sl\.(?:u\.)?[\w=-]{60,}  mixed
salesforce-token       00D[A-Za-z0-9]{12,15}![\w.]{80,}
auth0-token            auth0_[\w-]{30,}  mixed
infura-key             infura_[A-Za-z0-9]{30,}  mixed
strapi-token           strapi_[a-f0-9]{60,}
directus-token         directus_[\w-]{30,}  mixed
wakatime-key           waka_[0-9a-f]{8}-[0-9a-f-]{27}
rollbar-token          post_(?:client|server)_item_[a-f0-9]{32}
mergify-key            mka_[\w-]{30,}  mixed
# further services
aws-session-token      (?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)[A-Za-z0-9+/=]{60,}
akamai-token           akab-[A-Za-z0-9]{16}-[A-Za-z0-9]{16}
backblaze-key          K00\d[A-Za-z0-9/+]{27}
baidu-key              bce-v3/ALTAK-[A-Za-z0-9]{10,40}/[a-f0-9]{40}
brave-key              BSA[\w-]{28}  mixed
brevo-key              xsmtp-[A-Za-z0-9]{30,}
cashfree-key           cfsk_ma_(?:prod|test)_[A-Za-z0-9_]{30,}
clickup-token          pk_\d{5,12}_[A-Z0-9]{32}
cockroach-key          CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}
context7-key           ctx7sk-[0-9a-f-]{36}
cursor-key             (?:crsr|key)_[a-f0-9]{64}
digitalocean-key       DO00[A-Z0-9]{16}  mixed
elastic-key            essu_[A-Za-z0-9+/=]{40,}
exoscale-key           EXO[a-f0-9]{24}
firebase-key           AAAA[\w-]{7}:APA91b[\w-]{100,}
google-api-key         AQ\.Ab[\w-]{40,}
infracost-key          ico-[A-Za-z0-9]{32}
instagram-token        IG(?:QV|AA)[\w-]{60,}
intercom-token         dG9rO[A-Za-z0-9+/]{50,}={0,2}
jetbrains-token        perm[:-][A-Za-z0-9+/=_-]{4,80}\.[A-Za-z0-9+/=_-]{4,80}\.[\w+/=-]{20,}
klaviyo-key            pk_[a-f0-9]{34}
linkedin-secret        WPL_AP\d\.[\w-]{16}[\w.+/=-]{0,}
llamacloud-key         llx-[A-Za-z0-9]{40,}
mapbox-token           [sp]k\.eyJ[\w-]{40,400}\.[\w-]{20,}
midtrans-key           (?:SB-)?Mid-server-[\w-]{20,}
modal-token            a[ks]-[A-Za-z0-9]{22}  mixed
omise-key              [ps]key_(?:test_)?[a-z0-9]{19}  mixed
oracle-key             ocid1\.credential\.[\w.-]{40,}
paddle-key             pdl_(?:live|sdbx)_apikey_[\w-]{40,}
persona-key            persona_(?:production|sandbox)_[\w-]{30,}
polar-token            polar_(?:pat|oat|at|whs)_[\w-]{30,}
rancher-token          token-[a-z0-9]{5}:[a-z0-9]{54}
rapidapi-key           [a-z0-9]{10}msh[a-z0-9]{15}p1[a-z0-9]{6}jsn[a-z0-9]{12}  anchor=msh
revolut-token          oa_(?:prod|sand)_[\w-]{40,}
riot-key               RGAPI-[0-9a-f]{8}-[0-9a-f-]{27}
runpod-key             rpa_[A-Z0-9]{30,}
stytch-secret          secret-(?:test|live)-[\w=-]{30,}
trello-token           ATTA[0-9a-f]{64}
twitch-token           oauth:[a-z0-9]{30}  mixed
twitter-token          AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,}  alone mixed
uptimerobot-key        (?:ur|u|m)\d{4,12}-[0-9a-f]{20,34}  mixed
volcengine-key         AKLT[A-Za-z0-9]{30,}
woocommerce-key        c[ks]_[a-f0-9]{40}
xata-key               xau_[A-Za-z0-9]{30,}
xendit-key             xnd_(?:production|development|public)_[A-Za-z0-9_]{30,}
axiom-token            xa[ap]t-[0-9a-f]{8}-[0-9a-f-]{27}
zoho-token             1000\.[0-9a-f]{32}\.[0-9a-f]{32}
# more of clouds, models and tools
azure-key              [A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26,}={0,2}  anchor=JQQJ99
azure-search-key       [A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}  anchor=AzSe
azure-cache-key        [A-Za-z0-9]{33}AzCa[A-P][A-Za-z0-9]{5}=  anchor=AzCa
azure-cosmos-key       [A-Za-z0-9]{76}ACDb[A-Za-z0-9]{4,8}={0,2}  anchor=ACDb
tigris-key             tsec_[\w+/-]{40,}
bitwarden-token        0\.[0-9a-f]{8}-[0-9a-f-]{27}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{20,}={0,2}
swarm-token            SWMTKN-1-[a-z0-9]{50}-[a-z0-9]{25}
k3s-token              K10[0-9a-f]{64}::[a-z]{1,20}:(?P<secret>[a-z0-9.]{16,})
portainer-token        ptr_[A-Za-z0-9+/]{40,}={0,2}  mixed
netbird-token          nbp_[A-Za-z0-9]{36}
jsr-token              jsr[pwd]_[\w-]{30,}  mixed
socket-token           sktsec_[\w-]{30,}
dbt-token              dbt[cu]_[\w=-]{30,}  mixed
hex-tech-token         hxt[pw]_[a-f0-9]{64,}
kaggle-token           KGAT_[a-f0-9]{32}
helicone-key           [sp]k-helicone-[a-z0-9-]{24,}
logfire-token          pylf_v\d_[a-z]{2,5}_[A-Za-z0-9]{40,}
chroma-key             ck-[A-Za-z0-9]{40,}  mixed
nomic-key              nk-[\w-]{43}  mixed
inngest-key            signkey-(?:prod|test|branch)-[a-f0-9]{32,}
trigger-key            tr_(?:dev|prod|stg|preview|pat)_[A-Za-z0-9]{20,}  mixed
unkey-key              unkey_[A-Za-z0-9]{20,}  mixed
ory-token              ory_(?:pat|at|rt|ac|st|wak|apikey)_[\w.-]{30,}
liveblocks-key         sk_(?:dev|prod)_[\w-]{40,}  mixed
configcat-key          configcat-sdk-1/[\w-]{22}/(?P<secret>[\w-]{22})
statsig-key            (?:secret|console)-[A-Za-z0-9]{40,}  mixed
retool-token           retool_[a-z0-9]{26,}  mixed
tinybird-token         p\.eyJ[\w-]{20,400}\.[\w-]{20,}
checkly-key            cu_[a-f0-9]{32}
coralogix-key          cx[tu]p_[A-Za-z0-9]{30}
firehydrant-token      fhb-[a-f0-9]{32}
mailersend-key         mlsn\.[a-f0-9]{64}
telnyx-key             KEY[0-9A-F]{32}_[A-Za-z0-9]{22}
slack-token            xwfp-[A-Za-z0-9-]{20,}
matrix-token           sy[tr]_[A-Za-z0-9+/=-]{2,80}_[A-Za-z]{20}_[A-Za-z0-9]{6}
matrix-token           m(?:at|ar|ct)_[A-Za-z0-9]{30}_[A-Za-z0-9]{6}
ntfy-token             tk_[a-z0-9]{29}  mixed
pushbullet-token       o\.(?P<secret>[A-Za-z0-9]{32})  mixed
pubnub-key             sec-c-[A-Za-z0-9]{40,}  mixed
pinterest-token        pin[ar][_.][A-Za-z0-9_-]{32,}  mixed
vk-token               vk1\.a\.[\w-]{60,}
ramp-token             ramp_(?:sec|tok|business_tok)_[A-Za-z0-9]{24,}
checkout-key           [sp]k_sbox_[a-z0-9]{20,}
adyen-key              AQE[a-z][\w+/=-]{60,}  mixed
proxmox-token          PVEAPIToken=[\w.@-]{1,40}![\w.-]{1,30}=(?P<secret>[0-9a-f-]{36})
cal-key                cal_(?:live_)?[A-Za-z0-9]{32}
dependency-track-key   odt_(?:[A-Za-z0-9]{8}_)?[A-Za-z0-9]{32}
stackhawk-key          hawk\.[\w-]{20}\.[\w-]{20}
pyx-token              (?:sk|tp)-pyx-[A-Za-z0-9]{60,}
# standards
secret-token           secret-token:(?P<secret>[\w~.%-]{16,})
paseto                 v[1-4]\.(?:local|public)\.[\w-]{40,60000}(?:\.[\w-]{4,4000})?  whole
bip32-key              [xyz]prv[1-9A-HJ-NP-Za-km-z]{107}
nostr-key              nsec1[a-z0-9]{58}
jwt                    eyJ[\w-]{14,60000}\.eyJ[\w-]{8,60000}\.[\w-]{8,}  whole glued
jwe                    eyJ[\w-]{14,60000}\.[\w-]{0,60000}\.[\w-]{8,200}\.[\w-]{8,60000}\.[\w-]{16,}  whole
jwt-base64             ZXlK[A-Za-z0-9/+_-]{24,}={0,2}  mixed
""".replace("@DISCORD@", _DISCORD)  # fmt: skip
