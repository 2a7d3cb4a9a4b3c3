import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Account, openAccount } from './aws/account.ts'
import { checkSize, describeKeys, readAgentKeys, readTls, type StageKeys } from './aws/agent-keys.ts'
import { openBucketOf } from './aws/console-bucket.ts'
import { checkRecord } from './aws/record.ts'
import { runServerless } from './aws/serverless.ts'
import { checkChannel, checkStage, mergeSettings, NONE, SETTINGS, type StageSettings } from './aws/settings.ts'
import { buildFunction } from './build.ts'
import { ROOT } from './commands.ts'
import { CONSOLE_DIRECTORY, ensureConsole } from './web/build.ts'

/** `npm run deploy -- …` deploys the functions to an AWS account, or removes them (docs/aws.md). `HELP` describes the options. */
async function main(args: readonly string[]): Promise<void> {
  const options = parse(args)
  if (options.help) return say(HELP)
  if (options.remove && options.stage === undefined) throw new Error('--remove needs --stage NAME.')
  const stage = checkStage(options.stage ?? 'production')
  const region = options.region ?? process.env['AWS_REGION'] ?? process.env['AWS_DEFAULT_REGION'] ?? 'eu-central-1'
  const target = { account: openAccount(stage, region), stage, region, isDryRun: options['dry-run'] }
  await (options.remove ? remove(target) : deploy(target, options))
}

interface Target {
  account: Account
  stage: string
  region: string
  isDryRun: boolean
}

type Options = ReturnType<typeof parse>

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const settings = Object.fromEntries(SETTINGS.map((name) => [name, text])) as Record<
    (typeof SETTINGS)[number],
    typeof text
  >
  const tls = { 'channel-ca': text, 'channel-cert': text, 'channel-key': text }
  return parseArgs({
    args: [...args],
    options: {
      ...{ ...settings, ...tls, region: text, keys: text },
      ...{ stage: text, 'dry-run': flag, remove: flag, help: flag },
    },
  }).values
}

/**
 * Writes parameters and keys of the stage, then deploys. A repeated run changes nothing that is correct, so it completes an interrupted
 * one.
 */
async function deploy(target: Target, options: Options): Promise<void> {
  const { account, stage, region, isDryRun } = target
  const [kept, stored, stack] = await Promise.all([account.readParameters(), account.readKeys(), account.readStack()])
  const settings = mergeSettings(Object.fromEntries(kept), options)
  const keys = keysOf(options, stored?.keys ?? null)
  const hasTls = keys.channel_ca !== ''
  checkChannel(settings, hasTls)
  checkSize(keys)
  await checkRecord(settings, stack)
  say(`Stage ${stage} in ${region}:`)
  const isStored = stored !== null && JSON.stringify(stored.keys) === JSON.stringify(keys)
  sayStep(
    isStored ? 'keep' : stored === null ? 'create' : 'update',
    `secret boxyard/${stage}/keys: ${describeKeys(keys)}`,
  )
  const wanted = { ...settings, 'channel-tls': hasTls ? 'mutual' : NONE }
  const changed = sayParameters(wanted, kept, stage)
  sayStep(stack === null ? 'create' : 'update', `stack boxyard-${stage}`)
  if (isDryRun) return say('Dry run: nothing changed.')
  const version = isStored ? stored.version : await account.writeKeys(keys, stored !== null)
  for (const [name, value] of changed) await account.writeParameter(name, value)
  if (kept.get('keys-version') !== version) await account.writeParameter('keys-version', version)
  await buildFunction(join(ROOT, 'dist'))
  const hasConsole = settings['console-certificate'] !== NONE
  if (hasConsole) ensureConsole()
  else await emptyConsole(target, stack)
  // Forced, because serverless would skip a change of only parameters.
  await runServerless('deploy', ['--stage', stage, '--region', region, '--force'])
  const outputs = (await account.readStack()) ?? new Map()
  if (hasConsole) await fillConsole(target, outputs)
  sayEndpoint(outputs, settings)
}

/** Uploads the web console. @throws Error if the stack has no bucket for it */
async function fillConsole({ region }: Target, outputs: ReadonlyMap<string, string>): Promise<void> {
  const bucket = outputs.get(BUCKET)
  if (bucket === undefined) throw new Error('The stack has no bucket for the web console.')
  const sent = await openBucketOf(region, bucket).fill(CONSOLE_DIRECTORY)
  sayStep(sent === 0 ? 'keep' : 'update', `web console in bucket ${bucket}: ${sent} files sent`)
}

/** Empties the bucket of the web console, if the stack has one, so that CloudFormation can delete it. */
async function emptyConsole({ region }: Target, outputs: ReadonlyMap<string, string> | null): Promise<void> {
  const bucket = outputs?.get(BUCKET)
  if (bucket !== undefined) await openBucketOf(region, bucket).empty()
}

function keysOf(options: Options, stored: StageKeys | null): StageKeys {
  const source = options.keys ?? join(process.env['BOXYARD_DATA_DIR'] || '/var/lib/boxyard', 'keys')
  const { 'channel-ca': ca, 'channel-cert': cert, 'channel-key': key } = options
  const given = [ca, cert, key].filter((file) => file !== undefined)
  const agent = readAgentKeys(source)
  if (given.length > 0 && given.every((file) => file === NONE)) return { ...agent, ...NO_TLS }
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ...agent, ...readTls({ ca, cert, key }) }
  if (given.length > 0) throw new Error('--channel-ca, --channel-cert and --channel-key: set all or none.')
  const { channel_ca, channel_cert, channel_key } = stored ?? NO_TLS
  return { ...agent, channel_ca, channel_cert, channel_key }
}

/** Reports what happens to each parameter. Returns the parameters to write. */
function sayParameters(
  wanted: StageSettings & { 'channel-tls': string },
  kept: ReadonlyMap<string, string>,
  stage: string,
): [string, string][] {
  return Object.entries(wanted).filter(([name, value]) => {
    const before = kept.get(name)
    const step = before === value ? 'keep' : before === undefined ? 'create' : 'update'
    sayStep(step, `parameter /boxyard/${stage}/${name}: ${step === 'update' ? `${before} → ` : ''}${value}`)
    return step !== 'keep'
  })
}

function sayEndpoint(outputs: ReadonlyMap<string, string>, settings: StageSettings): void {
  const target = outputs.get('DomainTarget')
  if (target !== undefined && settings['hosted-zone'] === NONE) {
    say(`Point ${settings.domain} to ${target} with a CNAME or alias record.`)
  }
  const url = target === undefined ? outputs.get('HttpApiUrl') : `https://${settings.domain}`
  say(`Boxyard is ready at ${url} (try: curl ${url}/healthz)`)
  if (outputs.has(BUCKET)) say(`Console: ${url}/`)
}

/** Removes the stack, the secret and the parameters of a stage, in this order. An interrupted run can be repeated. */
async function remove({ account, stage, region, isDryRun }: Target): Promise<void> {
  const [kept, stored, stack] = await Promise.all([account.readParameters(), account.readKeys(), account.readStack()])
  say(`Stage ${stage} in ${region}:`)
  if (stack !== null)
    sayStep('delete', `stack boxyard-${stage}, with function, HTTP API, alarms, log, console and buckets`)
  if (stored !== null) sayStep('delete', `secret boxyard/${stage}/keys`)
  for (const name of kept.keys()) sayStep('delete', `parameter /boxyard/${stage}/${name}`)
  if (isDryRun) return say('Dry run: nothing changed.')
  await emptyConsole({ account, stage, region, isDryRun }, stack)
  if (stack !== null) await runServerless('remove', ['--stage', stage, '--region', region])
  if (stored !== null) await account.deleteKeys()
  await account.deleteParameters([...kept.keys()])
  say(`Removed stage ${stage}.`)
}

function sayStep(step: 'create' | 'update' | 'keep' | 'delete', what: string): void {
  say(`  ${step.padEnd(6)} ${what}`)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** The output of the stack that names the bucket of the web console. */
const BUCKET = 'ConsoleBucket'
const NO_TLS = { channel_ca: '', channel_cert: '', channel_key: '' }
const HELP = `Usage: npm run deploy -- [options]

Deploys the functions to the AWS account of your credentials. Writes the agent's keys to a secret and the settings to parameters.
Later deployments keep the settings. The value "none" removes a setting.

  --stage NAME              name of the deployment in the account (default: production)
  --region NAME             (default: AWS_REGION, or eu-central-1)
  --agent-url URL           URL where the functions reach the agent (required for the first deployment)
  --keys DIRECTORY          the agent's keys, or user@host:/directory over SSH (default: keys in BOXYARD_DATA_DIR or /var/lib/boxyard)
  --subnet-ids A,B          run the function in these subnets of a VPC, with --security-group-ids
  --security-group-ids A,B
  --channel-ca FILE         PEM for mutual TLS to the agent (required without subnets), with --channel-cert and --channel-key
  --channel-cert FILE
  --channel-key FILE
  --domain NAME             host name of the API, with --certificate
  --certificate ARN         its ACM certificate, in the same region
  --console-certificate ARN serve the web console at the host name too, with its ACM certificate in us-east-1
  --hosted-zone ID          the Route 53 zone that gets the record of the host name
  --cors-origins A,B        origins of pages that can call the API
  --alarm-topic ARN         the SNS topic that receives alarms

  --dry-run                 print the changes, and make none
  --remove                  remove everything that the stage has in the account`

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
