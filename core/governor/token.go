package governor

// tokenFormat contains the published formats of one kind of token, as patterns with spaces between them. Neighboring
// tokenFormats with the same rule name form one rule.
type tokenFormat struct {
	rule     string
	severity Severity
	patterns string
	check    check
	near     context // a subject that a word before the token must name; 0 for none
}

// tokenFormats lists the formats. testdata/governor/tokens.txt has their sources and examples, and a test compares
// the two lists. At each place, the first format that matches decides. The scanner reads formatText, which is
// generated from this list.
var tokenFormats = [...]tokenFormat{
	{"secret.postern-key", High, "sk_live_{w29} sk_test_{w29} pk_live_{w29} pk_test_{w29}", ofPostern, 0},
	{"secret.aws-access-key-id", High, "AKIA{B16} ASIA{B16} ABIA{B16} ACCA{B16}", 0, 0},
	{"secret.aws-secret-access-key", Critical, "{b40}", ofMixed, aboutAWS},
	{"secret.github-token", High, "ghp_{w36} gho_{w36} ghu_{w36} ghs_{w36} ghr_{w36} ghr_{w76}", ofGitHub, 0},
	{"secret.github-token", High, "ghp_{w36} gho_{w36} ghu_{w36} ghs_{w36} ghr_{w36}", 0, aboutSecret},
	{"secret.github-token", High, "ghs_{d1-20}_eyJ{v80-1200}", 0, 0},
	{"secret.github-fine-grained-token", High, "github_pat_{w22}_{w59}", 0, 0},
	{"secret.gitlab-token", High, "glpat-{u20-300}.{l2}.{w9} glpat-{u20-22} gldt-{v20-300} glrt-{v20-300} glptt-{x40} glft-{v20-300} " +
		"glsoat-{v20-300} glagent-{v50-300} glimt-{v25-300} glffct-{u20-64} gloas-{u64} glcbt-{v20-300} " +
		"GR1348941{u20} glpat-{u27-300}.{l9} gitlab_session={l32} glrtr-{v20-300} glwt-{v20-300}", 0, 0},
	{"secret.slack-token", High, "xoxb-{d8-14}-{d8-14}-{w18-26} xoxb-{d8-14}-{w18-26} xoxp-{d8-14}-{d8-14}-{d8-14}-{w28-34} " +
		"xoxp-{d8-14}-{d8-14}-{w18-34} xoxa-2-{d8-14}-{d8-14}-{d8-14}-{w28-34} xoxr-{d8-14}-{d8-14}-{d8-14}-{w28-34} " +
		"xoxc-{d8-14}-{d8-14}-{d8-14}-{x64} xoxs-{d8-14}-{d8-14}-{d8-14}-{x10-64} xoxe-1-{w140-170} " +
		"xoxe.xoxp-1-{w140-170} xoxe.xoxb-1-{w140-170} xoxa-2-{d8-14}-{d8-14}-{d8-14}-{w18-27} " +
		"xoxr-{d8-14}-{d8-14}-{d8-14}-{w18-27} xoxo-{d6-14}-{d6-14}-{d6-14}-{w18-34} " +
		"xoxs-{d6-14}-{d6-14}-{d6-14}-{w18-34} xoxe-{d8-14}-{d8-14}-{d8-14}-{x32} " +
		"xoxp-{d6-14}-{d6-14}-{d6-14}-{w18-34} xoxa-{d6-14}-{d6-14}-{d6-14}-{w18-34} " +
		"xoxr-{d6-14}-{d6-14}-{d6-14}-{w18-34} xoxa-2-{d6-14}-{d6-14}-{d6-14}-{w18-34}", 0, 0},
	{"secret.slack-token", High, "xoxd-{p60-300}", ofMixed, 0},
	{"secret.slack-token", High, "xoxp-1-{w100-200} xoxb-1-{w100-200}", 0, 0},
	{"secret.slack-app-token", High, "xapp-1-A{A8-13}-{d10-14}-{x64} xapp-{d1-5}-A{A8-13}-{d10-14}-{x64}", 0, 0},
	{"secret.slack-webhook", High, "hooks.slack.com/services/T{A8-12}/B{A8-12}/{w24} hooks.slack.com/services/{b43-56} " +
		"hooks.slack.com/workflows/{b43-80} hooks.slack.com/triggers/{b43-80}", 0, 0},
	{"secret.stripe-key", High, "sk_live_{w24-247} sk_test_{w24-247} rk_live_{w24-247} rk_test_{w24-247} sk_prod_{w24-247} rk_prod_{w24-247}", 0, 0},
	{"secret.stripe-webhook", High, "whsec_{e32-64}", 0, 0},
	{"secret.openai-key", High, "sk-proj-{u40-200} sk-svcacct-{u40-200} sk-admin-{u40-200} sk-None-{u40-200} sk-{w16-30}{u20-200}", ofOpenAI, 0},
	{"secret.openai-key", High, "sk-{w48}", 0, 0},
	{"secret.anthropic-key", High, "sk-ant-{l3-8}-{u80-120}", 0, 0},
	{"secret.openrouter-key", High, "sk-or-v1-{x64}", 0, 0},
	{"secret.deepseek-key", High, "sk-{x32}", 0, 0},
	{"secret.groq-key", High, "gsk_{w52}", 0, 0},
	{"secret.xai-key", High, "xai-{w80}", 0, 0},
	{"secret.perplexity-key", High, "pplx-{w48}", 0, 0},
	{"secret.replicate-token", High, "r8_{w37}", 0, 0},
	{"secret.fireworks-key", High, "fw_{w22-24}", ofMixed, 0},
	{"secret.nvidia-key", High, "nvapi-{u64}", 0, 0},
	{"secret.huggingface-token", High, "hf_{w34} api_org_{w34}", 0, 0},
	{"secret.google-api-key", High, "AIza{u35}", 0, 0},
	{"secret.google-oauth-token", High, "ya29.{u30-1000}", 0, 0},
	{"secret.google-oauth-client-secret", High, "GOCSPX-{u28}", 0, 0},
	{"secret.azure-storage-key", Critical, "{b86}==", 0, aboutSecret},
	{"secret.azure-storage-key", Critical, "{b76}+ASt{b6}== {b76}ACDb{b6}== {b76}+ABa{b6}== {b76}APIM{b6}==", ofMixed, 0},
	{"secret.azure-client-secret", High, "{t3}{d1}Q~{t31-34}", ofMixed, 0},
	{"secret.azure-sas", High, "sig={p42-90}", 0, 0},
	{"secret.azure-devops-token", High, "{w76}AZDO{w4}", 0, 0},
	{"secret.npm-token", High, "npm_{w36}", ofGitHub, 0},
	{"secret.npm-token", High, "npm_{w36}", 0, aboutSecret},
	{"secret.pypi-token", High, "pypi-AgEIcHlwaS5vcmc{u50-1000} pypi-AgENdGVzdC5weXBpLm9yZw{u50-1000}", 0, 0},
	{"secret.rubygems-key", High, "rubygems_{x48}", 0, 0},
	{"secret.crates-token", High, "cio{w32}", ofMixed, 0},
	{"secret.nuget-key", High, "oy2{l43}", 0, 0},
	{"secret.clojars-token", High, "CLOJARS_{x60}", 0, 0},
	{"secret.docker-token", High, "dckr_pat_{u27} dckr_oat_{u32}", 0, 0},
	{"secret.twilio-key", High, "SK{X32}", 0, 0},
	{"secret.twilio-auth-token", High, "{x32}", 0, aboutTwilio},
	{"secret.sendgrid-key", High, "SG.{u22}.{u43} SG.{c66} SG.{u20-24}.{u39-50}", 0, 0},
	{"secret.mailgun-key", High, "key-{x32} {x32}-{x8}-{x8}", 0, 0},
	{"secret.mailgun-key", High, "key-{l32}", ofPastHex, 0},
	{"secret.mailchimp-key", High, "{x32}-us{d1-2}", 0, 0},
	{"secret.brevo-key", High, "xkeysib-{x64}-{w16} xsmtpsib-{x64}-{w16}", 0, 0},
	{"secret.resend-key", High, "re_{w8}_{w24}", 0, 0},
	{"secret.square-token", High, "EAAA{u60-62} sq0atp-{u22} sq0csp-{u43-50}", 0, 0},
	{"secret.shopify-token", High, "shpat_{x32} shpca_{x32} shppa_{x32} shpss_{x32}", 0, 0},
	{"secret.shopify-token", High, "shpat_{w33-46} shpca_{w33-46} shppa_{w33-46} shpss_{w33-46}", ofMixed, 0},
	{"secret.shopify-token", High, "shpua_{x32}", 0, 0},
	{"secret.digitalocean-token", High, "dop_v1_{x64} doo_v1_{x64} dor_v1_{x64}", 0, 0},
	{"secret.heroku-key", High, "HRKU-{u60}", 0, 0},
	{"secret.heroku-key", High, "{X8}-{X4}-{X4}-{X4}-{X12}", 0, aboutHeroku},
	{"secret.heroku-key", High, "HRKU-{x8}-{x4}-{x4}-{x4}-{x12}", 0, 0},
	{"secret.databricks-token", High, "dapi{x32}-{d1} dapi{x32} dose{x32} dkea{x32}", 0, 0},
	{"secret.datadog-key", High, "{x40} {x32}", 0, aboutDatadog},
	{"secret.newrelic-key", High, "NRAK-{A27} NRII-{u32} NRJS-{x19} {x36}NRAL NRAA-{x27} NRIQ-{u25-32} NRII-{u25-31} NRBR-{x19} AA{x40}-NRMA " +
		"eu01xx{x36}-NRMA eu01x{v1}{x30}NRAL eu01xx{x26}FFFFNRAL", 0, 0},
	{"secret.newrelic-key", High, "NRSP-{u30-40}", ofMixed, 0},
	{"secret.newrelic-key", High, "NRRA-{x42}", 0, 0},
	{"secret.grafana-token", High, "glsa_{w32}_{X8} glc_{b32-400}{=0-2} eyJrIjoi{b70-400}{=0-2}", 0, 0},
	{"secret.dynatrace-token", High, "dt0{l3}.{w24}.{w64}", 0, 0},
	{"secret.sentry-token", High, "sntryu_{x64} sntrys_eyJ{b40-400}{=0-2}_{b43}", 0, 0},
	{"secret.linear-key", High, "lin_api_{w40} lin_oauth_{x64}", 0, 0},
	{"secret.notion-token", High, "ntn_{w46} secret_{w43}", ofMixed, 0},
	{"secret.figma-token", High, "figd_{u40} figp_{u40-54} figd_{u41-64}", 0, 0},
	{"secret.airtable-token", High, "pat{w14}.{x64}", 0, 0},
	{"secret.atlassian-token", High, "ATATT3{v150-250}{=0-1}{X0-8} ATCTT3{v150-250}{=0-1}{X0-8} ATBB{w24}{X8}", 0, 0},
	{"secret.atlassian-token", High, "BBDC-{b40-50}", ofMixed, 0},
	{"secret.postman-key", High, "PMAK-{x24}-{x34} PMAT-{A26}", 0, 0},
	{"secret.dropbox-token", High, "sl.{u130-1300}", 0, 0},
	{"secret.dropbox-token", High, "{w11}AAAAAAAAAA{c43}", ofMixed, 0},
	{"secret.discord-token", High, "{q1}{u22-27}.{u6}.{u27-45}", ofDiscord, 0},
	{"secret.discord-webhook", High, "discord.com/api/webhooks/{d17-20}/{u60-80}", 0, 0},
	{"secret.telegram-token", High, "{d8-10}:A{u33-34}", ofMixed, 0},
	{"secret.telegram-token", High, "{d9-10}:AA{u33} bot{d6-10}:A{u34}", 0, 0},
	{"secret.telegram-token", High, "{d5-16}:A{u34}", ofVaried, aboutVendor},
	{"secret.cloudflare-token", High, "v1.0-{x24}-{x146}", 0, 0},
	{"secret.cloudflare-token", High, "{u40}", ofMixed, aboutCloudflare},
	{"secret.cloudflare-token", High, "{x37}", 0, aboutCloudflare},
	{"secret.cloudflare-token", High, "cfut_{w48} cfat_{w48} cfk_{w48}", ofMixed, 0},
	{"secret.vault-token", High, "hvs.{u90-120} hvs.{u24} hvb.{u138-300} hvr.{u90-300} hvs.CAES{u20-85} hvb.AAAA{u20-133}", 0, 0},
	{"secret.vault-token", High, "s.{w24} s.{u80-120}", ofMixed, 0},
	{"secret.terraform-token", High, "{w14}.atlasv1.{c60-70}", 0, 0},
	{"secret.doppler-token", High, "dp.pt.{w40-44} dp.st.{l2-35}.{w40-44} dp.ct.{w40-44} dp.sa.{w40-44} dp.scim.{w40-44} dp.audit.{w40-44}", 0, 0},
	{"secret.fly-token", High, "fo1_{u43} fm2_{b100-900}{=0-3} fm1r_{b100-900}{=0-3} fm1a_{b100-900}{=0-3}", 0, 0},
	{"secret.supabase-key", High, "sbp_{l40} sb_secret_{u31-36} sbp_v0_{x40} sbp_oauth_{x40}", 0, 0},
	{"secret.planetscale-token", High, "pscale_tkn_{c32-64} pscale_oauth_{c32-64} pscale_pw_{c32-64}", 0, 0},
	{"secret.vercel-token", High, "vcp_{w56} vci_{w56} vca_{w56} vcr_{w56} vck_{w56}", ofMixed, 0},
	{"secret.vercel-token", High, "{w24}", ofMixed, aboutVercel},
	{"secret.vercel-token", High, "vcp_{w40} vci_{w40} vca_{w40} vcr_{w40} vck_{w40}", ofMixed, 0},
	{"secret.netlify-token", High, "nfp_{w36}", 0, 0},
	{"secret.pulumi-token", High, "pul-{x40}", 0, 0},
	{"secret.prefect-key", High, "pnu_{w36} pnb_{w36}", 0, 0},
	{"secret.sourcegraph-token", High, "sgp_{X40} sgp_{X16}_{X40} sgp_local_{X40}", 0, 0},
	{"secret.sourcegraph-token", High, "{X40}", ofMixed, aboutVendor},
	{"secret.readme-key", High, "rdme_{l70}", 0, 0},
	{"secret.tailscale-key", High, "tskey-api-{w10-20}-{w30-40} tskey-auth-{w10-20}-{w30-40} tskey-client-{w10-20}-{w30-40} " +
		"tskey-{l3-8}-{w8-24}-{w16-40}", 0, 0},
	{"secret.onepassword-key", Critical, "A3-{A6}-{A11}-{A5}-{A5}-{A5} A3-{A6}-{A6}-{A5}-{A5}-{A5}-{A5} ops_eyJ{b200-900}{=0-2}", 0, 0},
	{"secret.onepassword-key", Critical, "ops_eyJ{u200-900}", ofMixed, 0},
	{"secret.age-key", Critical, "AGE-SECRET-KEY-1{z58}", ofAge, 0},
	{"secret.shippo-token", High, "shippo_live_{x40} shippo_test_{x40}", 0, 0},
	{"secret.easypost-key", High, "EZAK{w54} EZTK{w54}", 0, 0},
	{"secret.duffel-token", High, "duffel_live_{c43} duffel_test_{c43}", 0, 0},
	{"secret.flutterwave-key", High, "FLWSECK_TEST-{l32}-X FLWSECK-{l32}-X FLWSECK_TEST-{l12}", 0, 0},
	{"secret.facebook-token", High, "EAA{w100-500}", ofMixed, 0},
	{"secret.facebook-token", High, "{d15-16}|{u27}", 0, 0},
	{"secret.facebook-token", High, "EAACEdEose0cBA{w20-99} IGQV{u80-400} IGAA{u80-400}", ofMixed, 0},
	{"secret.artifactory-key", High, "AKCp{w69} cmVmdGtuOjAxOj{w50}", 0, 0},
	{"secret.alibaba-access-key-id", High, "LTAI{w12-24} STS.{w20-32}", ofMixed, 0},
	{"secret.openshift-token", High, "sha256~{u43}", 0, 0},
	{"secret.octopus-key", High, "API-{A26}", 0, 0},
	{"secret.typeform-token", High, "tfp_{c59} tfp_{c40-58}", 0, 0},
	{"secret.contentful-token", High, "CFPAT-{u43}", 0, 0},
	{"secret.hubspot-token", High, "pat-na1-{x8}-{x4}-{x4}-{x4}-{x12} pat-eu1-{x8}-{x4}-{x4}-{x4}-{x12} pat-{l3}-{x8}-{x4}-{x4}-{x4}-{x12}", 0, 0},
	{"secret.plaid-token", High, "access-production-{x8}-{x4}-{x4}-{x4}-{x12} access-sandbox-{x8}-{x4}-{x4}-{x4}-{x12}", 0, 0},
	{"secret.scalingo-token", High, "tk-us-{u48}", 0, 0},
	{"secret.frameio-token", High, "fio-u-{u64}", 0, 0},
	{"secret.adobe-secret", High, "p8e-{u32}", 0, 0},
	{"secret.infracost-key", High, "ico-{w32}", 0, 0},
	{"secret.maxmind-key", High, "{w6}_{w29}_mmk", 0, 0},
	{"secret.harness-token", High, "pat.{u22}.{w24}.{w20} sat.{u22}.{w24}.{w20}", 0, 0},
	{"secret.buildkite-token", High, "bkua_{x40} bkua_{l40}", 0, 0},
	{"secret.buildkite-token", High, "bk{l2}_{v60-900}", ofPastHex, 0},
	{"secret.circleci-token", High, "CCIPAT_{w22}_{x40} CCIPRJ_{w22}_{x40}", 0, 0},
	{"secret.langsmith-key", High, "lsv2_pt_{x32}_{x10} lsv2_sk_{x32}_{x10}", 0, 0},
	{"secret.tavily-key", High, "tvly-dev-{w32} tvly-{w32}", 0, 0},
	{"secret.pinecone-key", High, "pcsk_{w5-6}_{w60-70}", 0, 0},
	{"secret.cerebras-key", High, "csk-{l48}", 0, 0},
	{"secret.together-key", High, "tgp_v1_{u43}", 0, 0},
	{"secret.elevenlabs-key", High, "sk_{x48}", 0, 0},
	{"secret.langfuse-key", High, "sk-lf-{x8}-{x4}-{x4}-{x4}-{x12}", 0, 0},
	{"secret.posthog-key", High, "phx_{u41-64}", 0, 0},
	{"secret.posthog-key", High, "phc_{u41-64} phs_{u41-64} phr_{u41-64} pha_{u41-64}", ofMixed, 0},
	{"secret.jina-key", High, "jina_{w60-64}", 0, 0},
	{"secret.e2b-key", High, "e2b_{x40}", 0, 0},
	{"secret.sonarqube-token", High, "sqp_{w40} squ_{w40} sqa_{w40}", 0, 0},
	{"secret.sonarqube-token", High, "{w40}", ofPastHex, aboutVendor},
	{"secret.sonarqube-token", High, "sqco_{w59}", 0, 0},
	{"secret.neon-key", High, "napi_{l64}", 0, 0},
	{"secret.render-key", High, "rnd_{w28-32}", 0, 0},
	{"secret.launchdarkly-key", High, "sdk-{x8}-{x4}-{x4}-{x4}-{x12} api-{x8}-{x4}-{x4}-{x4}-{x12}", 0, 0},
	{"secret.launchdarkly-key", High, "sdk-{l8}-{l4}-4{l3}-{l4}-{l12} api-{l8}-{l4}-4{l3}-{l4}-{l12}", ofPastHex, 0},
	{"secret.mapbox-token", High, "sk.eyJ{u60-120}.{u22} sk.eyJ{u30-59}.{u22} tk.eyJ{u30-120}.{u22}", 0, 0},
	{"secret.braintree-token", High, "access_token$production${l16}${l32} access_token$sandbox${l16}${x32}", 0, 0},
	{"secret.azure-openai-key", High, "{w52}JQQJ9{w27}", 0, 0},
	{"secret.firebase-key", High, "AAAA{u7}:APA91b{u134}", 0, 0},
	{"secret.sumologic-key", High, "su{w12}", ofVaried, aboutVendor},
	{"secret.sidekiq-key", High, "{x8}:{x8}", 0, aboutVendor},
	{"secret.intra42-secret", High, "s-s4t2ud-{x64} s-s4t2af-{x64}", 0, 0},
	{"secret.bedrock-key", High, "ABSK{b100-280}{=0-2}", ofMixed, 0},
	{"secret.bedrock-key", High, "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t{b20-2000}{=0-2}", 0, 0},
	{"secret.teams-webhook", High, "{v10-80}/webhookb2/{l8}-{l4}-{l4}-{l4}-{l12}@{l8}-{l4}-{l4}-{l4}-{l12}/IncomingWebhook/{l32} " +
		"outlook.office.com/webhook/{l8}-{l4}-{l4}-{l4}-{l12}@{l8}-{l4}-{l4}-{l4}-{l12}/IncomingWebhook/{l32}/{l8}-{l4}-{l4}-{l4}-{l12}", 0, 0},
	{"secret.twitter-token", High, "AAAAAAAAAAAAAAAAAAAA{b5-60}%{p10-110}", ofMixed, 0},
	{"secret.settlemint-token", High, "sm_aat_{w16} sm_pat_{w16} sm_sat_{w16}", 0, 0},
	{"secret.yandex-token", High, "t1.{u1-400}{=0-2}.{u86}{=0-2} AQVN{u35-38}", 0, 0},
	{"secret.yandex-token", High, "YC{u38}", ofMixed, 0},
	{"secret.authress-key", High, "sc_{w5-30}.{w4-6}.acc_{u10-32}.{c30-120} authress_{w5-30}.{w4-6}.acc_{u10-32}.{c30-120}", 0, 0},
	{"secret.clickhouse-key", High, "4b1d{w38}", ofMixed, 0},
	{"secret.okta-token", High, "00{u40}", ofMixed, aboutVendor},
	{"secret.password-hash", High, "1${h1-8}${h22} 2a${d2}${h53} 2b${d2}${h53} 2y${d2}${h53} 5${h1-16}${h43} 5$rounds={d4-9}${h1-16}${h43} " +
		"6${h1-16}${h86} 6$rounds={d4-9}${h1-16}${h86} apr1${h8}${h22} 8${h14}${h43} krb5asrep$23${x32}${x64-1000} " +
		"krb5asrep$23${v3-64}@{v3-64}:{x32}${x64-1000} " +
		"j9T${h1-86}${h43} j75${h1-86}${h43} 7${h11-97}${h43} sha1${d1-8}${h1-64}${h28} md5${h8}${h22} md5${h8}$${h22} 2x${d2}${h53} " +
		"argon2id$v={d2}$m={d1-9},t={d1-4},p={d1-4}${b11-64}${b16-128} argon2i$v={d2}$m={d1-9},t={d1-4},p={d1-4}${b11-64}${b16-128} " +
		"pbkdf2_sha256${d4-8}${w8-40}${b43}= bcrypt_sha256$$2b${d2}${h53} scrypt:{d1-8}:{d1-3}:{d1-3}${w8-40}${x128} pbkdf2:sha256:{d4-8}${w8-40}${x64}", 0, 0},
	{"secret.service-key", High, "aio_{w28} amzn.mws.{x8}-{x4}-{x4}-{x4}-{x12} apify_api_{u36} bb_pr_{x30} bb_ma_{x30} endr+{w16} shltm_{u40} " +
		"pk_{d6-9}_{A32} pk_{x34} slk_{x64} ak_live_{w30} VF.DM.{X24}.{w16} VF.WS.{X24}.{w16} VF.{X24}.{w16} " +
		"1000.{x32}.{x32} tkn.v1_{w71}= mdb_sa_sk_{u40} ramp_sec_{w48} rh-api-{x8}-{x4}-{x4}-{x4}-{x12} rootly_{x64} " +
		"salad_cloud_{w1-7}_{w20-235} pi_{w24}_secret_{w25} thog-secret-{x32} live_{x35} test_{x35} " +
		"live_{d8-10}_{w30} 00{w13}!{v96} 5AEP861{c80-200} IQoJb3JpZ2lu{b100-2000}{=0-2} " +
		"hooks.zapier.com/hooks/catch/{b16-24} waka_{x8}-{x4}-{x4}-{x4}-{x12} fc-{x32} da2-{l26} key_{x28} key_{x64} " +
		"key_{x128} live_{x32} live_auth_{x32} test_{x32} wrka{a0-2}-eyJ{v60-1200} api_live.{u8-16}.{u24-40} " +
		"api_live_{l2}.{u8-16}.{u24-40} CCDB1_{w22}_{w40} akab-{w16}-{w16} SWMTKN-1-{l50}-{l25} " +
		"TlRMTVNTUAADAAAA{b60-2000}{=0-2} cosmo_{x32} pub-c-{l8}-{l4}-{l4}-{l4}-{l12} sub-c-{l8}-{l4}-{l4}-{l4}-{l12} " +
		"cr-{x58} mergify_application_key_{u60-70} rzp_live_{w14} rzp_test_{w14} k2sk_v1_{w24} " +
		"RGAPI-{l8}-{l4}-{l4}-{l4}-{l12} SU{B56} SA{B56} SO{B56} sk-helicone-{v20-60} secret-live-{u35}= " +
		"secret-test-{u35}= signkey-prod-{x32-64} signkey-test-{x32-64} signkey-branch-{x32-64} cal_{x32} " +
		"cal_live_{x32} pdl_live_apikey_{l26}_{w22}_{w3} pdl_sdbx_apikey_{l26}_{w22}_{w3} pdl_ntfset_{l26}_{b32} " +
		"EXO{x24} snyk_uat.{l8}.{v60-1200} snyk_sat.{l8}.{v60-1200} packagist_{l3}_{x68} dG9rO{w54}= " +
		"bce-v3/ALTAK-{w20-24}/{x40} st.{x24}.{x32}.{x32} 0.{x8}-{x4}-{x4}-{x4}-{x12}.{w30}:{b22}== " +
		"secret-token:{t16-300} pylf_v{d1}_{l2}_{w43} pl_{x32} hl_sk_{x48} ctx7sk-{x8}-{x4}-{x4}-{x4}-{x12} " +
		"zpka_{x32}_{x8} xaat-{x8}-{x4}-{x4}-{x4}-{x12} xapt-{x8}-{x4}-{x4}-{x4}-{x12} cu_{x32} sk_{x32} " +
		"sk_{x8}-{x4}-{x4}-{x4}-{x12} sk_test_{x8}-{x4}-{x4}-{x4}-{x12}", 0, 0},
	{"secret.service-key", High, "odt_{w32-255} ddp_{w36} ddw_{w36} flb_live_{w20} ion_{w42} NF-{w32} hawk.{u20}.{u20} BBFF-{w30} sgp_{w64} " +
		"llx-{u48} key_live_{w32} key_test_{w32} apk_{e60-200} apk_user_{e60-250} 3MVG{v80-100} sec-c-{e40-80} " +
		"pa-{u43} {x32}.{u24} {x32}.{w16} ATTA{w72} b_{u44}= 1//0{u40-110} wandb_v1_{u60-100} secret-{w40-50} " +
		"rpa_{w40-50} ak-{w22} as-{w22} bb_live_{u24-40} m0-{w40} tr_dev_{w20-24} tr_prod_{w20-24} tr_stg_{w20-24} " +
		"live_{u40} sandbox_{u40} AVNS_{u19} cflt{b60} dbtc_{u40-50} dbtu_{u40-50} u+{u18} sk{w170-200} " +
		"vk1.a.{u80-300} AKID{w32} AKLT{w40-60} db-{w29} prd:{w24}.{w32} sbx:{w24}.{w32} WPL_AP1.{w16}.{b6}{=0-2} " +
		"KEY{X32}_{w22} KEY{u50-62} nyk_v0_{w64} ser.{w22} sk_car_{w22} nk-{u43} flp_{w46} sk_dev_{u40-80} " +
		"p.eyJ{u40-300}.{u43} api_{w22}.{w22} v2.local.{u60-1000} v2.public.{u60-1000} v4.local.{u60-1000} " +
		"v4.public.{u60-1000} {b33}+ASb{b6}= {b33}+AEh{b6}= {b33}+ARm{b6}= {b33}AIoT{b6}= {b33}AzCa{b6}= " +
		"{w42}AzSe{w6} {b42}+ACR{b6} {u44}AzFu{u6}==", ofMixed, 0},
	{"secret.service-key", High, "cog_{l52} {v4-80}/hooks/{l26} {v4-80}:{d2-5}/hooks/{l26} pk_prod_{A28} tr_pat_{l40} DO00{A16} " +
		"hc{a3}_{l58} token-{l5}:{l54} kubeconfig-{u4-40}:{l54} oauth:{l30}", ofPastHex, 0},
	{"secret.service-key", High, "AQ.Ab8R{u46} sk-pyx-{w46-64} packagist_ack_{x28} packagist_acs_{x72} {v4-80}/webhook/{x32}/{x32} ddo_{w36} " +
		"essu_{b88-110}{=0-2} essu_{u80} mainnet.infura.io/v3/{x32} mainnet.infura.io/ws/v3/{x32} sepolia.infura.io/v3/{x32} " +
		"polygon-mainnet.infura.io/v3/{x32} eth-mainnet.g.alchemy.com/v2/{u32} eth-sepolia.g.alchemy.com/v2/{u32} " +
		"polygon-mainnet.g.alchemy.com/v2/{u32}", 0, 0},
	{"secret.service-key", High, "{u43}:B{u86}", ofMixed, 0},
}

// formatSubjects lists the subjects that formats need. A number in formatText is an index into this list.
var formatSubjects = [...]context{0, aboutSecret, aboutAWS, aboutDatadog, aboutHeroku, aboutVercel, aboutCloudflare, aboutTwilio, aboutVendor}

type oneFormat struct {
	pattern string
	rule    ID
	check   check
	near    context
}

// formatHead is the number of bytes before a pattern in formatText. These bytes are the pattern's length, its rule,
// and its check plus 16 times the number of its subject.
const formatHead = 3

// formatAt returns the format at an offset in formatText.
func formatAt(at int) oneFormat {
	body, meta := at+formatHead, formatText[at+2]
	return oneFormat{formatText[body : body+int(formatText[at])], ID(formatText[at+1]), check(meta & 15), formatSubjects[meta>>4]}
}
