package governor

// tokenFormat is the published format of one kind of token. Neighbors with the same rule are one rule.
type tokenFormat struct {
	rule     string
	severity Severity
	pattern  string
	check    func(token []byte) bool // of the checksum; nil if the format has none
	near     context                 // a subject that must be named before the token; 0 for none
}

// tokenFormats is the list of formats. testdata/governor/tokens.txt has their sources and examples; a test compares the
// two. At one place the first format that matches decides.
var tokenFormats = [...]tokenFormat{
	{"secret.postern-key", High, "sk_live_{w29}", posternKey, 0},
	{"secret.postern-key", High, "sk_test_{w29}", posternKey, 0},
	{"secret.postern-key", High, "pk_live_{w29}", posternKey, 0},
	{"secret.postern-key", High, "pk_test_{w29}", posternKey, 0},
	{"secret.aws-access-key-id", High, "AKIA{B16}", nil, 0},
	{"secret.aws-access-key-id", High, "ASIA{B16}", nil, 0},
	{"secret.aws-access-key-id", High, "ABIA{B16}", nil, 0},
	{"secret.aws-access-key-id", High, "ACCA{B16}", nil, 0},
	{"secret.aws-secret-access-key", Critical, "{b40}", mixed, aboutAWS},
	{"secret.github-token", High, "ghp_{w36}", githubToken, 0},
	{"secret.github-token", High, "gho_{w36}", githubToken, 0},
	{"secret.github-token", High, "ghu_{w36}", githubToken, 0},
	{"secret.github-token", High, "ghs_{w36}", githubToken, 0},
	{"secret.github-token", High, "ghr_{w36}", githubToken, 0},
	{"secret.github-token", High, "ghr_{w76}", nil, 0},
	{"secret.github-token", High, "ghp_{w36}", nil, aboutSecret},
	{"secret.github-token", High, "gho_{w36}", nil, aboutSecret},
	{"secret.github-token", High, "ghu_{w36}", nil, aboutSecret},
	{"secret.github-token", High, "ghs_{w36}", nil, aboutSecret},
	{"secret.github-token", High, "ghr_{w36}", nil, aboutSecret},
	{"secret.github-fine-grained-token", High, "github_pat_{w22}_{w59}", nil, 0},
	{"secret.gitlab-token", High, "glpat-{u27-300}.{l2}.{l9}", nil, 0},
	{"secret.gitlab-token", High, "glpat-{u20-22}", nil, 0},
	{"secret.gitlab-token", High, "gldt-{u20-64}", nil, 0},
	{"secret.gitlab-token", High, "glrt-{v20-300}", nil, 0},
	{"secret.gitlab-token", High, "glptt-{x40}", nil, 0},
	{"secret.gitlab-token", High, "glft-{u20-64}", nil, 0},
	{"secret.gitlab-token", High, "glsoat-{u20-64}", nil, 0},
	{"secret.gitlab-token", High, "glagent-{u50-64}", nil, 0},
	{"secret.gitlab-token", High, "glimt-{u25-64}", nil, 0},
	{"secret.gitlab-token", High, "glffct-{u20-64}", nil, 0},
	{"secret.gitlab-token", High, "gloas-{u64}", nil, 0},
	{"secret.gitlab-token", High, "glcbt-{v20-300}", nil, 0},
	{"secret.gitlab-token", High, "GR1348941{u20}", nil, 0},
	{"secret.gitlab-token", High, "glpat-{u27-300}.{l9}", nil, 0},
	{"secret.gitlab-token", High, "gitlab_session={l32}", nil, 0},
	{"secret.slack-token", High, "xoxb-{d8-14}-{d8-14}-{w18-26}", nil, 0},
	{"secret.slack-token", High, "xoxb-{d8-14}-{w18-26}", nil, 0},
	{"secret.slack-token", High, "xoxp-{d8-14}-{d8-14}-{d8-14}-{w28-34}", nil, 0},
	{"secret.slack-token", High, "xoxp-{d8-14}-{d8-14}-{w18-34}", nil, 0},
	{"secret.slack-token", High, "xoxa-2-{d8-14}-{d8-14}-{d8-14}-{w28-34}", nil, 0},
	{"secret.slack-token", High, "xoxr-{d8-14}-{d8-14}-{d8-14}-{w28-34}", nil, 0},
	{"secret.slack-token", High, "xoxc-{d8-14}-{d8-14}-{d8-14}-{x64}", nil, 0},
	{"secret.slack-token", High, "xoxs-{d8-14}-{d8-14}-{d8-14}-{x10-64}", nil, 0},
	{"secret.slack-token", High, "xoxe-1-{w140-170}", nil, 0},
	{"secret.slack-token", High, "xoxe.xoxp-1-{w140-170}", nil, 0},
	{"secret.slack-token", High, "xoxe.xoxb-1-{w140-170}", nil, 0},
	{"secret.slack-token", High, "xoxa-2-{d8-14}-{d8-14}-{d8-14}-{w18-27}", nil, 0},
	{"secret.slack-token", High, "xoxr-{d8-14}-{d8-14}-{d8-14}-{w18-27}", nil, 0},
	{"secret.slack-token", High, "xoxo-{d6-14}-{d6-14}-{d6-14}-{w18-34}", nil, 0},
	{"secret.slack-token", High, "xoxs-{d6-14}-{d6-14}-{d6-14}-{w18-34}", nil, 0},
	{"secret.slack-token", High, "xoxe-{d8-14}-{d8-14}-{d8-14}-{x32}", nil, 0},
	{"secret.slack-app-token", High, "xapp-1-A{A8-13}-{d10-14}-{x64}", nil, 0},
	{"secret.slack-webhook", High, "hooks.slack.com/services/T{A8-12}/B{A8-12}/{w24}", nil, 0},
	{"secret.slack-webhook", High, "hooks.slack.com/services/{b43-56}", nil, 0},
	{"secret.slack-webhook", High, "hooks.slack.com/workflows/{b43-80}", nil, 0},
	{"secret.slack-webhook", High, "hooks.slack.com/triggers/{b43-80}", nil, 0},
	{"secret.stripe-key", High, "sk_live_{w24-247}", nil, 0},
	{"secret.stripe-key", High, "sk_test_{w24-247}", nil, 0},
	{"secret.stripe-key", High, "rk_live_{w24-247}", nil, 0},
	{"secret.stripe-key", High, "rk_test_{w24-247}", nil, 0},
	{"secret.stripe-key", High, "sk_prod_{w24-247}", nil, 0},
	{"secret.stripe-key", High, "rk_prod_{w24-247}", nil, 0},
	{"secret.stripe-webhook", High, "whsec_{e32-64}", nil, 0},
	{"secret.openai-key", High, "sk-proj-{u40-200}", nil, 0},
	{"secret.openai-key", High, "sk-svcacct-{u40-200}", nil, 0},
	{"secret.openai-key", High, "sk-admin-{u40-200}", nil, 0},
	{"secret.openai-key", High, "sk-None-{u40-200}", nil, 0},
	{"secret.openai-key", High, "sk-{w48}", nil, 0},
	{"secret.anthropic-key", High, "sk-ant-{l3-8}-{u80-120}", nil, 0},
	{"secret.openrouter-key", High, "sk-or-v1-{x64}", nil, 0},
	{"secret.deepseek-key", High, "sk-{x32}", nil, 0},
	{"secret.groq-key", High, "gsk_{w52}", nil, 0},
	{"secret.xai-key", High, "xai-{w80}", nil, 0},
	{"secret.perplexity-key", High, "pplx-{w48}", nil, 0},
	{"secret.replicate-token", High, "r8_{w37}", nil, 0},
	{"secret.fireworks-key", High, "fw_{w22-24}", mixed, 0},
	{"secret.nvidia-key", High, "nvapi-{u64}", nil, 0},
	{"secret.huggingface-token", High, "hf_{w34}", nil, 0},
	{"secret.huggingface-token", High, "api_org_{w34}", nil, 0},
	{"secret.google-api-key", High, "AIza{u35}", nil, 0},
	{"secret.google-oauth-token", High, "ya29.{u30-1000}", nil, 0},
	{"secret.google-oauth-client-secret", High, "GOCSPX-{u28}", nil, 0},
	{"secret.azure-storage-key", Critical, "{b86}==", nil, aboutSecret},
	{"secret.azure-client-secret", High, "{t3}{d1}Q~{t31-34}", mixed, 0},
	{"secret.azure-sas", High, "sig={p42-90}", nil, 0},
	{"secret.azure-devops-token", High, "{w76}AZDO{w4}", nil, 0},
	{"secret.npm-token", High, "npm_{w36}", githubToken, 0},
	{"secret.npm-token", High, "npm_{w36}", nil, aboutSecret},
	{"secret.pypi-token", High, "pypi-AgEIcHlwaS5vcmc{u50-1000}", nil, 0},
	{"secret.pypi-token", High, "pypi-AgENdGVzdC5weXBpLm9yZw{u50-1000}", nil, 0},
	{"secret.rubygems-key", High, "rubygems_{x48}", nil, 0},
	{"secret.crates-token", High, "cio{w32}", mixed, 0},
	{"secret.nuget-key", High, "oy2{l43}", nil, 0},
	{"secret.clojars-token", High, "CLOJARS_{x60}", nil, 0},
	{"secret.docker-token", High, "dckr_pat_{u27}", nil, 0},
	{"secret.docker-token", High, "dckr_oat_{u32}", nil, 0},
	{"secret.twilio-key", High, "SK{x32}", nil, 0},
	{"secret.twilio-auth-token", High, "{x32}", nil, aboutTwilio},
	{"secret.sendgrid-key", High, "SG.{u22}.{u43}", nil, 0},
	{"secret.sendgrid-key", High, "SG.{c66}", nil, 0},
	{"secret.mailgun-key", High, "key-{x32}", nil, 0},
	{"secret.mailgun-key", High, "{x32}-{x8}-{x8}", nil, 0},
	{"secret.mailchimp-key", High, "{x32}-us{d1-2}", nil, 0},
	{"secret.brevo-key", High, "xkeysib-{x64}-{w16}", nil, 0},
	{"secret.resend-key", High, "re_{w8}_{w24}", nil, 0},
	{"secret.square-token", High, "EAAA{u60}", nil, 0},
	{"secret.square-token", High, "sq0atp-{u22}", nil, 0},
	{"secret.square-token", High, "sq0csp-{u43}", nil, 0},
	{"secret.shopify-token", High, "shpat_{x32}", nil, 0},
	{"secret.shopify-token", High, "shpca_{x32}", nil, 0},
	{"secret.shopify-token", High, "shppa_{x32}", nil, 0},
	{"secret.shopify-token", High, "shpss_{x32}", nil, 0},
	{"secret.digitalocean-token", High, "dop_v1_{x64}", nil, 0},
	{"secret.digitalocean-token", High, "doo_v1_{x64}", nil, 0},
	{"secret.digitalocean-token", High, "dor_v1_{x64}", nil, 0},
	{"secret.heroku-key", High, "HRKU-AA{u58}", nil, 0},
	{"secret.heroku-key", High, "{X8}-{X4}-{X4}-{X4}-{X12}", nil, aboutHeroku},
	{"secret.databricks-token", High, "dapi{x32}-{d1}", nil, 0},
	{"secret.databricks-token", High, "dapi{x32}", nil, 0},
	{"secret.datadog-key", High, "{x40}", nil, aboutDatadog},
	{"secret.datadog-key", High, "{x32}", nil, aboutDatadog},
	{"secret.newrelic-key", High, "NRAK-{A27}", nil, 0},
	{"secret.newrelic-key", High, "NRII-{u32}", nil, 0},
	{"secret.newrelic-key", High, "NRJS-{x19}", nil, 0},
	{"secret.newrelic-key", High, "{x36}NRAL", nil, 0},
	{"secret.grafana-token", High, "glsa_{w32}_{X8}", nil, 0},
	{"secret.grafana-token", High, "glc_{b32-400}{=0-2}", nil, 0},
	{"secret.grafana-token", High, "eyJrIjoi{b70-400}{=0-2}", nil, 0},
	{"secret.dynatrace-token", High, "dt0c01.{w24}.{w64}", nil, 0},
	{"secret.sentry-token", High, "sntryu_{x64}", nil, 0},
	{"secret.sentry-token", High, "sntrys_eyJ{b40-400}{=0-2}_{b43}", nil, 0},
	{"secret.linear-key", High, "lin_api_{w40}", nil, 0},
	{"secret.linear-key", High, "lin_oauth_{x64}", nil, 0},
	{"secret.notion-token", High, "ntn_{d11}{w35}", nil, 0},
	{"secret.notion-token", High, "secret_{w43}", mixed, 0},
	{"secret.figma-token", High, "figd_{u40}", nil, 0},
	{"secret.airtable-token", High, "pat{w14}.{x64}", nil, 0},
	{"secret.atlassian-token", High, "ATATT3{v150-250}{=0-1}{X0-8}", nil, 0},
	{"secret.atlassian-token", High, "ATCTT3{v150-250}{=0-1}{X0-8}", nil, 0},
	{"secret.atlassian-token", High, "ATBB{w24}{X8}", nil, 0},
	{"secret.postman-key", High, "PMAK-{x24}-{x34}", nil, 0},
	{"secret.dropbox-token", High, "sl.{u130-1300}", nil, 0},
	{"secret.discord-token", High, "{q1}{u22-27}.{u6}.{u27-45}", discordToken, 0},
	{"secret.discord-webhook", High, "discord.com/api/webhooks/{d17-20}/{u60-80}", nil, 0},
	{"secret.telegram-token", High, "{d8-10}:A{u34}", mixed, 0},
	{"secret.telegram-token", High, "bot{d8-10}:A{u34}", mixed, 0},
	{"secret.telegram-token", High, "{d5-16}:A{u34}", varied, aboutVendor},
	{"secret.cloudflare-token", High, "v1.0-{x24}-{x146}", nil, 0},
	{"secret.cloudflare-token", High, "{u40}", mixed, aboutCloudflare},
	{"secret.cloudflare-token", High, "{x37}", nil, aboutCloudflare},
	{"secret.vault-token", High, "hvs.{u90-120}", nil, 0},
	{"secret.vault-token", High, "hvs.{u24}", nil, 0},
	{"secret.vault-token", High, "hvb.{u138-300}", nil, 0},
	{"secret.vault-token", High, "hvr.{u90-300}", nil, 0},
	{"secret.vault-token", High, "s.{w24}", mixed, 0},
	{"secret.terraform-token", High, "{w14}.atlasv1.{c60-70}", nil, 0},
	{"secret.doppler-token", High, "dp.pt.{w40-44}", nil, 0},
	{"secret.doppler-token", High, "dp.st.{l2-35}.{w40-44}", nil, 0},
	{"secret.doppler-token", High, "dp.ct.{w40-44}", nil, 0},
	{"secret.doppler-token", High, "dp.sa.{w40-44}", nil, 0},
	{"secret.doppler-token", High, "dp.scim.{w40-44}", nil, 0},
	{"secret.doppler-token", High, "dp.audit.{w40-44}", nil, 0},
	{"secret.fly-token", High, "fo1_{u43}", nil, 0},
	{"secret.fly-token", High, "fm2_{b100-900}{=0-3}", nil, 0},
	{"secret.fly-token", High, "fm1r_{b100-900}{=0-3}", nil, 0},
	{"secret.fly-token", High, "fm1a_{b100-900}{=0-3}", nil, 0},
	{"secret.supabase-key", High, "sbp_{x40}", nil, 0},
	{"secret.supabase-key", High, "sb_secret_{u31-36}", nil, 0},
	{"secret.planetscale-token", High, "pscale_tkn_{c32-64}", nil, 0},
	{"secret.planetscale-token", High, "pscale_oauth_{c32-64}", nil, 0},
	{"secret.planetscale-token", High, "pscale_pw_{c32-64}", nil, 0},
	{"secret.vercel-token", High, "vcp_{w50-60}", nil, 0},
	{"secret.vercel-token", High, "{w24}", mixed, aboutVercel},
	{"secret.netlify-token", High, "nfp_{w36}", nil, 0},
	{"secret.pulumi-token", High, "pul-{x40}", nil, 0},
	{"secret.prefect-key", High, "pnu_{w36}", nil, 0},
	{"secret.prefect-key", High, "pnb_{w36}", nil, 0},
	{"secret.sourcegraph-token", High, "sgp_{X40}", nil, 0},
	{"secret.sourcegraph-token", High, "sgp_{X16}_{X40}", nil, 0},
	{"secret.sourcegraph-token", High, "sgp_local_{X40}", nil, 0},
	{"secret.sourcegraph-token", High, "{X40}", mixed, aboutVendor},
	{"secret.readme-key", High, "rdme_{l70}", nil, 0},
	{"secret.tailscale-key", High, "tskey-api-{w10-20}-{w30-40}", nil, 0},
	{"secret.tailscale-key", High, "tskey-auth-{w10-20}-{w30-40}", nil, 0},
	{"secret.tailscale-key", High, "tskey-client-{w10-20}-{w30-40}", nil, 0},
	{"secret.onepassword-key", Critical, "A3-{A6}-{A11}-{A5}-{A5}-{A5}", nil, 0},
	{"secret.onepassword-key", Critical, "A3-{A6}-{A6}-{A5}-{A5}-{A5}-{A5}", nil, 0},
	{"secret.onepassword-key", Critical, "ops_eyJ{b200-900}{=0-2}", nil, 0},
	{"secret.age-key", Critical, "AGE-SECRET-KEY-1{z58}", ageKey, 0},
	{"secret.shippo-token", High, "shippo_live_{x40}", nil, 0},
	{"secret.shippo-token", High, "shippo_test_{x40}", nil, 0},
	{"secret.easypost-key", High, "EZAK{w54}", nil, 0},
	{"secret.easypost-key", High, "EZTK{w54}", nil, 0},
	{"secret.duffel-token", High, "duffel_live_{c43}", nil, 0},
	{"secret.duffel-token", High, "duffel_test_{c43}", nil, 0},
	{"secret.flutterwave-key", High, "FLWSECK_TEST-{l32}-X", nil, 0},
	{"secret.flutterwave-key", High, "FLWSECK-{l32}-X", nil, 0},
	{"secret.flutterwave-key", High, "FLWSECK_TEST-{l12}", nil, 0},
	{"secret.facebook-token", High, "EAA{w100-250}", mixed, 0},
	{"secret.facebook-token", High, "{d15-16}|{u27}", nil, 0},
	{"secret.artifactory-key", High, "AKCp{w69}", nil, 0},
	{"secret.artifactory-key", High, "cmVmd{w59}", nil, 0},
	{"secret.alibaba-access-key-id", High, "LTAI{w20}", mixed, 0},
	{"secret.openshift-token", High, "sha256~{u43}", nil, 0},
	{"secret.octopus-key", High, "API-{A26}", nil, 0},
	{"secret.typeform-token", High, "tfp_{c59}", nil, 0},
	{"secret.contentful-token", High, "CFPAT-{u43}", nil, 0},
	{"secret.hubspot-token", High, "pat-na1-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.hubspot-token", High, "pat-eu1-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.plaid-token", High, "access-production-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.plaid-token", High, "access-sandbox-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.scalingo-token", High, "tk-us-{u48}", nil, 0},
	{"secret.frameio-token", High, "fio-u-{u64}", nil, 0},
	{"secret.adobe-secret", High, "p8e-{u32}", nil, 0},
	{"secret.infracost-key", High, "ico-{w32}", nil, 0},
	{"secret.maxmind-key", High, "{w6}_{w29}_mmk", nil, 0},
	{"secret.harness-token", High, "pat.{u22}.{w24}.{w20}", nil, 0},
	{"secret.harness-token", High, "sat.{u22}.{w24}.{w20}", nil, 0},
	{"secret.buildkite-token", High, "bkua_{x40}", nil, 0},
	{"secret.circleci-token", High, "CCIPAT_{w22}_{x40}", nil, 0},
	{"secret.langsmith-key", High, "lsv2_pt_{x32}_{x10}", nil, 0},
	{"secret.langsmith-key", High, "lsv2_sk_{x32}_{x10}", nil, 0},
	{"secret.tavily-key", High, "tvly-dev-{w32}", nil, 0},
	{"secret.pinecone-key", High, "pcsk_{w5-6}_{w60-70}", nil, 0},
	{"secret.cerebras-key", High, "csk-{l48}", nil, 0},
	{"secret.together-key", High, "tgp_v1_{u43}", nil, 0},
	{"secret.elevenlabs-key", High, "sk_{x48}", nil, 0},
	{"secret.langfuse-key", High, "sk-lf-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.posthog-key", High, "phx_{w43-48}", nil, 0},
	{"secret.jina-key", High, "jina_{w60-64}", nil, 0},
	{"secret.e2b-key", High, "e2b_{x40}", nil, 0},
	{"secret.sonarqube-token", High, "sqp_{w40}", nil, 0},
	{"secret.sonarqube-token", High, "squ_{w40}", nil, 0},
	{"secret.sonarqube-token", High, "sqa_{w40}", nil, 0},
	{"secret.sonarqube-token", High, "{w40}", pastHex, aboutVendor},
	{"secret.neon-key", High, "napi_{l64}", nil, 0},
	{"secret.render-key", High, "rnd_{w28-32}", nil, 0},
	{"secret.launchdarkly-key", High, "sdk-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.launchdarkly-key", High, "api-{x8}-{x4}-{x4}-{x4}-{x12}", nil, 0},
	{"secret.mapbox-token", High, "sk.eyJ{u60-120}.{u22}", nil, 0},
	{"secret.braintree-token", High, "access_token$production${l16}${x32}", nil, 0},
	{"secret.azure-openai-key", High, "{w52}JQQJ99{w26}", nil, 0},
	{"secret.firebase-key", High, "AAAA{u7}:APA91b{u134}", nil, 0},
	{"secret.sumologic-key", High, "su{w12}", varied, aboutVendor},
	{"secret.sidekiq-key", High, "{x8}:{x8}", nil, aboutVendor},
	{"secret.intra42-secret", High, "s-s4t2ud-{x64}", nil, 0},
	{"secret.intra42-secret", High, "s-s4t2af-{x64}", nil, 0},
	{"secret.bedrock-key", High, "ABSKQmVkcm9ja0FQSUtleS{b100-280}{=0-2}", nil, 0},
	{"secret.bedrock-key", High, "bedrock-api-key-{b20-2000}{=0-2}", nil, 0},
	{"secret.teams-webhook", High, "{v10-80}/webhookb2/{l8}-{l4}-{l4}-{l4}-{l12}@{l8}-{l4}-{l4}-{l4}-{l12}/IncomingWebhook/{l32}", nil, 0},
	{"secret.twitter-token", High, "AAAAAAAAAAAAAAAAAAAAAA{p80-110}", nil, 0},
	{"secret.settlemint-token", High, "sm_aat_{w16}", nil, 0},
	{"secret.settlemint-token", High, "sm_pat_{w16}", nil, 0},
	{"secret.settlemint-token", High, "sm_sat_{w16}", nil, 0},
	{"secret.yandex-token", High, "t1.{u1-400}{=0-2}.{u86}{=0-2}", nil, 0},
	{"secret.yandex-token", High, "AQVN{u35-38}", nil, 0},
	{"secret.yandex-token", High, "YC{u38}", mixed, 0},
	{"secret.authress-key", High, "sc_{w5-30}.{w4-6}.acc_{u10-32}.{c30-120}", nil, 0},
	{"secret.authress-key", High, "authress_{w5-30}.{w4-6}.acc_{u10-32}.{c30-120}", nil, 0},
	{"secret.clickhouse-key", High, "4b1d{w38}", mixed, 0},
}

// minSpread is the least spread of a token's variable part: random hexadecimal text of 32 bytes has about 11.
const minSpread = 6

// token tries the token formats at a word's start.
func (s *Scanner) token(v *view, start, end int, kinds uint16) (next int, ok bool) {
	if v.has(start, "eyJ") {
		if next, ok = s.jwt(v, start); ok {
			return next, true
		}
	}
	if v.has(start, "ZXlK") {
		if next, ok = s.encodedJWT(v, start); ok {
			return next, true
		}
	}
	bucket := bucketOf(v.at(start), v.at(start+1))
	for _, i := range formatOrder[formatStarts[bucket]:formatStarts[bucket+1]] {
		if next, ok = s.tryFormat(v, start, int(i)); ok {
			return next, true
		}
	}
	after, long := v.at(end), end-start >= 20 && kinds&isDigit != 0
	if !long && after != ':' && after != '/' && after != '|' {
		return 0, false
	}
	for n, i := range unanchored {
		if behind := unanchoredEnds[n]; behind != after && (behind > ' ' || !long && (behind == 0 || after != '/')) {
			continue
		}
		if next, ok = s.tryFormat(v, start, int(i)); ok {
			return next, true
		}
	}
	return 0, false
}

// tryFormat tries one format. A format without a checksum needs a body that looks random.
func (s *Scanner) tryFormat(v *view, start, i int) (next int, ok bool) {
	f := &tokenFormats[i]
	prefix := literalPrefix(f.pattern)
	if !v.has(start, prefix) {
		return 0, false
	}
	if f.near != 0 && s.since(f.near, start) > nearBefore {
		return 0, false
	}
	if f.pattern[:4] == "sig=" {
		return s.sharedSignature(v, start, i)
	}
	if f.pattern[:4] == "{t3}" && v.at(start+3) == 'Q' && oneOf(v.at(start-1), "._~-") {
		start-- // a joint begins the token, but no word
	}
	end := tokenEnd(v, start, f.pattern)
	if end < 0 {
		return 0, false
	}
	token := v.text[start:end]
	if f.check != nil && !f.check(token) {
		return 0, false
	}
	body := token[len(prefix):]
	if n := spread(body); n < minSpread && (f.near != aboutVendor || n < minSpread-1) || isSample(token) || isSequence(body) {
		return 0, false
	}
	if len(prefix) < 3 && f.near != aboutVendor && f.near != aboutHeroku && runs(body) {
		return 0, false
	}
	return s.emit(v, tokenRule[i], start, end)
}

// tokenEnd is the end of a token at start that a pattern describes and that the text does not continue, or -1.
func tokenEnd(v *view, start int, pattern string) int {
	end, last := match(v, start, pattern)
	if end < 0 || !v.closed(end) || patternClass[v.at(end)]&last != 0 && (v.at(end) != '.' || isAlnum(v.at(end+1))) {
		return -1
	}
	for v.text[end-1] == '.' {
		end-- // the end of a sentence
	}
	return end
}

// sharedSignature is the signature of an Azure shared access signature: the finding is its value.
func (s *Scanner) sharedSignature(v *view, start, i int) (next int, ok bool) {
	end, _ := match(v, start, tokenFormats[i].pattern)
	if end < 0 || !v.has(end-3, "%3D") && v.at(end) != '=' || spread(v.text[start+4:end]) < minSpread {
		return 0, false
	}
	return s.emit(v, tokenRule[i], start+len("sig="), end)
}
