// For each agent: how a person sets it up for Postern, how it runs a turn without a terminal, and how it names its
// tools.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { install } from './install.mjs'

function write(path, content) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
}

const platform = `${process.platform}-${process.arch}`
const last = (list, wanted) => list.findLast(wanted)

const codex = {
  models: { own: 'gpt-5.5', other: 'claude-sonnet-4-6' },
  compactsAt: 200_000,
  asksForSummary: 'You are performing a CONTEXT CHECKPOINT COMPACTION',
  command: () => [process.execPath, join(install('codex'), 'node_modules/@openai/codex/bin/codex.js')],
  configure({ home, base, key, model, ownProvider = true }) {
    const provider = `model_provider = "postern"
[model_providers.postern]
name = "Postern"
base_url = "${base}/v1"
env_key = "POSTERN_KEY"
wire_api = "responses"
`
    write(
      join(home, '.codex/config.toml'),
      `model = "${model}"
model_auto_compact_token_limit = ${codex.compactsAt}
analytics.enabled = false
${ownProvider ? provider : `openai_base_url = "${base}/v1"\n`}`,
    )
    return ownProvider ? {} : { CODEX_API_KEY: key }
  },
  args: ({ prompt, first, image }) => [
    'exec',
    ...(first ? [] : ['resume', '--last']),
    ...['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
    ...(image ? ['-i', image] : []),
    ...['--', prompt],
  ],
  calls: {
    write: (path, text) => ({
      tool: 'apply_patch',
      input: `*** Begin Patch\n*** Add File: ${path}\n${text.replace(/^/gm, '+').replace(/\n\+$/, '')}\n*** End Patch\n`,
    }),
    edit: (path, from, to) => ({
      tool: 'apply_patch',
      input: `*** Begin Patch\n*** Update File: ${path}\n@@\n-${from}\n+${to}\n*** End Patch\n`,
    }),
    run: (cmd) => ({ tool: 'exec_command', args: { cmd } }),
  },
  // Codex offers apply_patch only to models that it knows. It makes other models write with the shell.
  callsOfOther: {
    write: (path, text) => ({
      tool: 'exec_command',
      args: { cmd: `printf '${text.replace(/\n/g, '\\n')}' > ${path}` },
    }),
    edit: (path, from, to) => ({ tool: 'exec_command', args: { cmd: `sed -i s/${from}/${to}/ ${path}` } }),
    run: (cmd) => ({ tool: 'exec_command', args: { cmd } }),
  },
  read(events) {
    const usage = last(events, ({ type }) => type === 'turn.completed')?.usage
    return {
      text: last(events, ({ item }) => item?.type === 'agent_message')?.item.text,
      error: last(events, ({ type }) => type === 'turn.failed')?.error.message,
      usage: usage && { input: usage.input_tokens, cached: usage.cached_input_tokens, output: usage.output_tokens },
    }
  },
}

const claude = {
  models: { own: 'claude-sonnet-4-6', other: 'gpt-5.5' },
  compactCommand: '/compact',
  asksForSummary: 'an <analysis> block followed by a <summary> block',
  command: () => [join(install('claude'), `node_modules/@anthropic-ai/claude-code-${platform}/claude`)],
  configure: ({ base, key, model }) => ({
    ANTHROPIC_BASE_URL: base,
    ANTHROPIC_AUTH_TOKEN: key,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }),
  args: ({ prompt, first, image }) => [
    ...['-p', '--verbose', '--output-format', 'stream-json', '--allowedTools', 'Write,Edit,Read,Bash'],
    ...(first ? [] : ['--continue']),
    ...['--', image ? `${prompt} @${image}` : prompt],
  ],
  calls: {
    write: (file_path, content) => ({ tool: 'Write', args: { file_path, content } }),
    edit: (file_path, old_string, new_string) => ({ tool: 'Edit', args: { file_path, old_string, new_string } }),
    run: (command) => ({ tool: 'Bash', args: { command, description: 'Run it' } }),
  },
  read(events) {
    const { result, is_error, usage, total_cost_usd } = last(events, ({ type }) => type === 'result') ?? {}
    return {
      text: is_error ? undefined : result,
      error: is_error ? result : undefined,
      usage: usage && {
        input: usage.input_tokens,
        cached: usage.cache_read_input_tokens,
        written: usage.cache_creation_input_tokens,
        output: usage.output_tokens,
        dollars: total_cost_usd,
      },
    }
  },
}

const opencode = {
  compactsAt: 990_000,
  models: { own: 'anthropic/claude-sonnet-4-6', other: 'postern/gemini-3.8-flash' },
  command: () => [join(install('opencode'), `node_modules/opencode-${platform}/bin/opencode`)],
  configure({ home, base }) {
    const options = { baseURL: `${base}/v1`, apiKey: '{env:POSTERN_KEY}' }
    const model = {
      limit: { context: 400_000, output: 32_000 },
      attachment: true,
      modalities: { input: ['text', 'image'], output: ['text'] },
    }
    write(join(home, '.config/opencode/opencode.json'), {
      $schema: 'https://opencode.ai/config.json',
      autoupdate: false,
      share: 'disabled',
      provider: {
        anthropic: { options },
        postern: { npm: '@ai-sdk/openai-compatible', name: 'Postern', options, models: { 'gemini-3.8-flash': model } },
      },
    })
    return {
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    }
  },
  args: ({ prompt, first, image, model }) => [
    ...['run', '--format', 'json', '-m', model],
    ...(first ? [] : ['--continue']),
    ...(image ? ['-f', image] : []),
    ...['--', prompt],
  ],
  calls: {
    write: (filePath, content) => ({ tool: 'write', args: { filePath, content } }),
    edit: (filePath, oldString, newString) => ({ tool: 'edit', args: { filePath, oldString, newString } }),
    run: (command) => ({ tool: 'bash', args: { command, description: 'Run it' } }),
  },
  read(events) {
    const finish = last(events, ({ type }) => type === 'step_finish')?.part
    const failed = last(events, ({ type }) => type === 'error')?.error
    return {
      text: events
        .filter(({ type }) => type === 'text')
        .map(({ part }) => part.text)
        .join('\n'),
      error: failed && (failed.data?.message ?? JSON.stringify(failed)),
      usage: finish && { ...finish.tokens, dollars: finish.cost },
    }
  },
}

const pi = {
  compactsAt: 990_000,
  models: { own: 'anthropic/claude-sonnet-4-6', other: 'postern/gemini-3.8-flash' },
  command: () => [process.execPath, join(install('pi'), 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js')],
  configure({ home, base, key }) {
    const model = {
      id: 'gemini-3.8-flash',
      contextWindow: 400_000,
      maxTokens: 32_000,
      reasoning: true,
      input: ['text', 'image'],
    }
    write(join(home, '.pi/agent/models.json'), {
      providers: {
        anthropic: { baseUrl: base },
        postern: { baseUrl: `${base}/v1`, api: 'openai-completions', apiKey: '$POSTERN_KEY', models: [model] },
      },
    })
    return { ANTHROPIC_API_KEY: key, PI_OFFLINE: '1', PI_TELEMETRY: '0' }
  },
  args: ({ prompt, first, image, model }) => [
    ...['--mode', 'json', '--model', model, '-p'],
    ...(first ? [] : ['--continue']),
    ...(image ? [`@${image}`] : []),
    prompt,
  ],
  calls: {
    write: (path, content) => ({ tool: 'write', args: { path, content } }),
    edit: (path, oldText, newText) => ({ tool: 'edit', args: { path, edits: [{ oldText, newText }] } }),
    run: (command) => ({ tool: 'bash', args: { command } }),
  },
  read(events) {
    const end = last(events, ({ type, message }) => type === 'message_end' && message.role === 'assistant')?.message
    const failed = end?.stopReason === 'error'
    return {
      text: failed ? undefined : end?.content.find(({ type }) => type === 'text')?.text,
      error: failed ? end.errorMessage : undefined,
      usage: end && {
        input: end.usage.input,
        cached: end.usage.cacheRead,
        written: end.usage.cacheWrite,
        output: end.usage.output,
      },
    }
  },
}

export const agents = { codex, claude, opencode, pi }
