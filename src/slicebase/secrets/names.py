"""The words of names that a secret is assigned to: `api_key`, `"password"`, `ADAFRUIT_TOKEN`, `--client-secret`.

`SERVICES` are names of services that issue keys without a shape of their own. The list was taken from what is public
about such services (among others the names of TruffleHog's detectors), without those that are ordinary words in code.
"""

import re
from functools import lru_cache
from typing import Final

_PASSWORDS: Final = "password passwd passphrase passwort pwd passcode"
_SECRETS: Final = (
    "secret token apikey api_key api-key accesskey access_key access-key authkey auth_key auth-key "
    "account_key accountkey account-key app_key appkey app-key consumer_key consumerkey consumer-key "
    "deploy_key deploykey deploy-key encryption_key encryptionkey encryption-key license_key licensekey license-key "
    "master_key masterkey master-key private_key privatekey private-key secret_key service_key servicekey service-key "
    "shared_key sharedkey shared-key signing_key signingkey signing-key storage_key storagekey storage-key "
    "subscription_key subscriptionkey subscription-key webhook_key webhookkey admin_key adminkey admin-key "
    "integration_key routing_key write_key writekey credential creds bearer authorization x-auth auth_code sas_key "
    "client_key clientkey client-key user_key userkey project_key ingest_key hmac_key session_key sessionkey"
)
SERVICES: Final = (
    "abuseipdb accuweather adafruit adobe aerisweather agora airbrake airship airtable airvisual aiven alchemy algolia "
    "alibaba alienvault aliyun alphavantage amadeus amplitude anthropic anypoint apideck apiflash apify apilayer "
    "appcues appfollow artifactory asana assemblyai atlassian auth0 autodesk avalara aviationstack aylien ayrshare "
    "bannerbear baremetrics bazaarvoice beamer binance bitbucket bitfinex bitly bitmex bitrise bittrex blazemeter "
    "braintree brandfetch brevo browserstack bugsnag buildkite buttercms calendarific calendly cashfree censys "
    "chartmogul chatfuel checklyhq circleci clarifai clearbit clickhouse clickup clockify clojars cloudant "
    "cloudconvert cloudflare cloudinary cloudmersive cloudsmith codacy codeclimate codecov cohere coinbase coingecko "
    "cometchat confluence confluent contentful contentstack contribsys convertkit coveralls crowdin cryptocompare "
    "currencylayer customerio databricks datadog dailymotion deepgram deepl deepseek delighted diffbot digitalocean "
    "discord disqus dockerhub docusign doppler droneci dropbox duffel dwolla dynatrace easypost edamam elasticemail "
    "elevenlabs emailoctopus enphase etherscan eventbrite facebook fastly fastspring figma filestack finage finicity "
    "finnhub firebase flagsmith flexport flickr flightaware flutterwave foursquare frameio freshbooks freshdesk "
    "fullcontact fullstory geckoboard geocodio geoapify gitea github gitlab gitter giphy glassnode gocardless grafana "
    "graphhopper groq gumroad gyazo harvest helpscout helpcrunch heroku hetzner honeycomb hubspot huggingface hunterio "
    "iexcloud imagekit imgur infura instabot instagram insightly intercom intrinio ipgeolocation ipinfo ipstack jfrog "
    "jotform jumpcloud kairos klaviyo kontent kraken kucoin lastfm launchdarkly leadfeeder linkedin linode lokalise "
    "looker mailboxlayer mailchimp mailerlite mailersend mailgun mailjet mailsac mandrill mapbox mapquest marketstack "
    "mattermost maxmind mediastack meraki messagebird message_bird message-bird mixpanel mistral mollie monkeylearn "
    "moonshot netlify newrelic new_relic new-relic newsapi newyorktimes new-york-times nexmo ngrok nightfall numverify "
    "nutritionix nylas nytimes omnisend onelogin openai opencage openrouter openweather optimizely opsgenie owlbot "
    "packagecloud pagerduty pandadoc pastebin paddle paymongo paypal paystack percy pepipost pinata pinboard pipedream "
    "pipedrive pivotaltracker pixabay plaid plivo polygonio poloniex positionstack postageapp posthog postmark postman "
    "privateai private_ai private-ai prismic pubnub pulumi pushbullet pusher quandl quickbooks rapidapi razorpay "
    "rebrandly recaptcha recurly reddit revenuecat ringcentral riotgames rocketreach rollbar rubygems runpod "
    "salesforce samsara saucelabs scaleway scrapeowl scraperapi scrapfly scrapingant scrapingbee screenshotapi "
    "securitytrails segment_write sendbird sendgrid sendinblue sentry serpapi serpstack servicenow shippo shodan "
    "shopify shotstack shutterstock signalwire sinch smartsheet smartystreets smooch snipcart sonarcloud sonarqube "
    "sparkpost splunk spoonacular spotify squareup squarespace sslmate statuscake statuspage storyblok stormglass "
    "strava stripe stytch sumologic surveymonkey survicate supabase swiftype taxjar teamviewer telegram telegr telnyx "
    "tencent textmagic ticketmaster tiingo todoist tomtom tomorrowio tradier travisci trello twelvedata twilio twitch "
    "twitter typeform ubidots unsplash unifyid uploadcare uptimerobot urlscan userflow vercel virustotal "
    "vonage vultr wakatime walkscore weatherapi weatherbit weatherstack webex webflow wepay whoxy wistia woocommerce "
    "wootric wordnik workato wrike wunderground yandex zapier zendesk zenscrape zenserp zeplin zerobounce zoominfo "
    "sonar travis dnkey"
)
# Short names, which must be words of their own.
_SHORT: Final = "lob okta jira etsy snyk sumo xray kite yelp hive raven openuv lunr aha"
# A name that ends like this holds no secret, whatever its other words say.
_LAST_WORDS: Final = (
    "id ids uuid guid sha sha1 sha256 md5 hash hashes digest checksum commit rev revision version path paths file "
    "files "
    "filename dir directory folder url uri urls endpoint host hostname domain region bucket type types kind class name "
    "names username user email label title count counts length size limit index indexes number budget usage regex "
    "pattern prefix suffix format field fields column table model tokenizer color date time timestamp expires expiry "
    "ttl status state test tests page cursor etag fingerprint thumbprint public img image image_tag tag package module "
    "branch ref refs repo repository channel topic queue arn account project org slug namespace used changed modified "
    "updated rotated"
)
_LAST: Final = frozenset(_LAST_WORDS.split())

_KEYS: Final = frozenset({"key", "auth", "pass", "sid", "pat", "cred"})
_OTHER_WORDS: Final = (
    "primary foreign cache sort partition public group dict index lookup hash row object unique composite natural hot "
    "short map error message locale translation event query order tree node path file the a this by of to for in with "
    "json storage_item idempotency dedup duplicate column table host known ssh first last next item record entry"
)
_OTHER_KEYS: Final = frozenset(_OTHER_WORDS.split())
_CAMEL: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def _alternation(words: str) -> str:
    return "|".join(map(re.escape, sorted(words.split(), key=len, reverse=True)))


# Words before `pass`, which alone is more often a step of a compiler.
_OF_PASS: Final = (
    "smtp imap pop3 mail email ftp sftp db database mysql mariadb postgres pg pgsql sql redis mongo mongodb rabbitmq "
    "amqp mqtt ldap become sudo ssh root admin user proxy http wifi vpn vnc keystore truststore registry docker jdbc "
    "login auth"
)
_PASSWORD: Final = re.compile(rf"{_alternation(_PASSWORDS)}|(?<![a-z0-9])(?:{_alternation(_OF_PASS)})[_-]?pass\Z")
_SECRET: Final = re.compile(
    rf"{_alternation(_SECRETS)}|(?<![a-z])(?:api|access|secret|auth|license|signing) key[ \t]*\Z|^[ \t]*_?auth[ \t]*\Z"
)
# Tokens that say where to go on, or which of two requests came first. They open nothing.
_OF_PLACES: Final = (
    "next prev previous page pagination paging continuation continue starting resume scroll sync change lock sequence "
    "idempotency client_request clientrequest"
)
_NOT_SECRET: Final = re.compile(
    r"tokeni[sz]|secretar|public_?-?key|token_?-?(?:count|limit|usage|budget)|max_?-?tokens?"
    rf"|(?<![a-z])(?:{_alternation(_OF_PLACES)})(?:_?-?page)?_?-?tokens?(?![a-z])"
)


@lru_cache(1)
def _service() -> re.Pattern[str]:
    short = "|".join(_SHORT.split())
    return re.compile(rf"{_alternation(SERVICES)}|(?:(?<![a-z])|(?<=[_.-]))(?:{short})(?![a-z])")


@lru_cache(8192)
def kind_of_name(name: str) -> str | None:
    """Returns what a name says of its value: `password`, `secret`, `service-key`, `key`, or None."""
    lower = name.lower()
    if _NOT_SECRET.search(lower):
        return None
    last = _CAMEL.findall(name.rstrip(" \t"))[-1:]
    if last and last[0].lower() in _LAST:
        return None
    if _PASSWORD.search(lower):
        return "password"
    if _SECRET.search(lower):
        return "secret"
    if _service().search(lower):
        return "service-key"
    return "key" if _is_some_key(name) else None


def _is_some_key(name: str) -> bool:
    """Returns whether the name is one of a key of something, such as `ACME_KEY` or `sdkKey`, but not of a table."""
    words = [word.lower() for word in _CAMEL.findall(name)[-2:]]
    return len(words) == 2 and words[1] in _KEYS and words[0] not in _OTHER_KEYS and name.rstrip()[-1:].isalpha()
