import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createVerifier } from '../shared/channel.ts'
import { SERVER_OPTIONS, serve } from '../shared/http.ts'
import { publicTokenKeys } from '../shared/keys.ts'
import type { HttpHandler } from '../shared/messages.ts'
import { operations } from '../shared/routes.ts'
import type { Health } from '../shared/schemas/system.ts'
import { createTokenVerifier } from '../shared/tokens.ts'
import type { AgentSettings } from './config.ts'
import { createAdmission } from './core/admission.ts'
import { createAttachments } from './core/attachments.ts'
import { ensureBases } from './core/bases.ts'
import { createBoxes } from './core/boxes.ts'
import { createExecs, type Execs } from './core/execs.ts'
import { reportHealth } from './core/health.ts'
import { createOperations } from './core/operations.ts'
import { createQuotas } from './core/quotas.ts'
import { createRateLimit } from './core/rate-limit.ts'
import { Reconciler } from './core/reconciler.ts'
import { findSubvolumeFaults } from './core/subvolume-faults.ts'
import { createVolumes } from './core/volumes.ts'
import { type Deployment, type DeploymentDeps, ensureAdminToken, openDeployment } from './deployment.ts'
import { createLinuxHost, readBootId } from './drivers/host-linux.ts'
import { type EmbeddedDrivers, openEmbeddedDrivers } from './embedded.ts'
import { createBoxHandlers } from './handlers/boxes.ts'
import type { Handlers } from './handlers/call.ts'
import { createExecHandlers } from './handlers/exec.ts'
import { createQuotaHandlers } from './handlers/quotas.ts'
import { createSystemHandlers } from './handlers/system.ts'
import { createTokenHandlers } from './handlers/tokens.ts'
import { createVolumeHandlers } from './handlers/volumes.ts'
import type { Clock } from './ports/clock.ts'
import { createBodyBudget } from './server/body-budget.ts'
import { createDispatch } from './server/dispatch.ts'
import { scheduleUpkeep } from './upkeep.ts'

/** An agent that serves. */
export interface Agent {
  address: AddressInfo
  /** Refuses new work, lets what runs come to its end, and leaves the boxes running. */
  stop(): Promise<void>
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { ref: false, ...(signal ? { signal } : {}) }).catch(() => undefined),
}

/** Starts the agent: the one place that picks drivers and wires all parts. */
export async function startAgent(deps: DeploymentDeps & { version: Version }, signal: AbortSignal): Promise<Agent> {
  const { settings, closers, logger, clock } = deps
  const state = { isDraining: false }
  const deployment = openDeployment(deps, { exclusive: true })
  const { store, tokens } = deployment
  await ensureAdminToken(settings.dataDir, tokens)
  const drivers = await openEmbeddedDrivers(deps, deployment)
  const { limits } = settings
  const reconciler = new Reconciler({ ...drivers, store, clock, logger, bootId: readBootId(), limits })
  closers.add('reconciler', () => reconciler.close())
  const standingFaults = await findSubvolumeFaults(store, drivers.filesystem)
  await reconciler.recover()
  await ensureBases(settings.bases, { ...drivers, store, clock, notices: deps.notices }, signal)
  await scheduleUpkeep({ store, clock, closers, logger, limits })
  const execs = createExecs({ ...drivers, store, clock, logger, limits })
  await execs.recover()
  const health = (): Promise<Health> =>
    reportHealth({
      ...drivers,
      store,
      reconciler,
      host: createLinuxHost(),
      logger,
      dataDir: settings.dataDir,
      isDraining: () => state.isDraining,
      standingFaults,
    })
  const parts: Parts = { ...deps, deployment, drivers, reconciler, execs, health, state }
  const { server, serving } = await listen(settings, createApp(parts), deps)
  const stop = async (): Promise<void> => {
    state.isDraining = true
    logger.info('draining')
    await serving.drain(AbortSignal.timeout(limits.drainMs))
    await execs.close(EXEC_END_MS)
    await closers.run(CLOSE_MS)
  }
  return { address: server.address() as AddressInfo, stop }
}

type Version = { version: string; commit: string | null }

interface Parts extends DeploymentDeps {
  version: Version
  deployment: Deployment
  drivers: EmbeddedDrivers
  reconciler: Reconciler
  execs: Execs
  health(): Promise<Health>
  state: { isDraining: boolean }
}

function createApp(parts: Parts): HttpHandler {
  const { settings, deployment, clock, logger, state } = parts
  const { keys, store, tokens } = deployment
  const now = (): number => clock.now()
  let privateKeys = keys.tokens()
  let publicKeys = publicTokenKeys(privateKeys)
  const currentPublicKeys = () => {
    if (keys.tokens() !== privateKeys) {
      privateKeys = keys.tokens()
      publicKeys = publicTokenKeys(privateKeys)
    }
    return publicKeys
  }
  return createDispatch({
    verifySignature: createVerifier({
      keys: () => keys.channel().keys,
      agentId: keys.channel().agent_id,
      now,
      startedAt: now(),
    }),
    verifyToken: createTokenVerifier({ keys: currentPublicKeys, now }),
    checkAlive: (id) => tokens.checkAlive(id),
    rateLimit: createRateLimit({
      perSecond: settings.limits.rateLimitPerSecond,
      burst: settings.limits.rateLimitBurst,
      clock,
    }),
    bodies: createBodyBudget(settings.limits.largeBodyBytesAtOnce),
    idempotency: store.idempotency,
    handlers: createHandlers(parts),
    isDraining: () => state.isDraining,
    clock,
    logger,
  })
}

function createHandlers(parts: Parts): Handlers {
  const { settings, deployment, drivers, reconciler, execs, clock, version } = parts
  const { store, tokens } = deployment
  const defaults = {
    base: settings.defaultBase,
    config: { cpus: 1, ram_mb: 512, region: settings.region, storage_gb: 10 },
    gracePeriodSeconds: 10,
    volumeSizeGb: 10,
  }
  const { filesystem, runtime } = drivers
  const admission = createAdmission({ store, host: createLinuxHost(), limits: settings.limits })
  const shared = { store, filesystem, runtime, reconciler, clock, admission, defaults }
  const boxes = createBoxes(shared)
  const volumes = createVolumes(shared)
  const attachments = createAttachments({ ...shared, boxes })
  const underWay = createOperations({ store, reconciler, clock })
  return {
    ...createSystemHandlers({
      store,
      version,
      drivers: { runtime: runtime.kind, filesystem: filesystem.kind, store: store.kind },
      defaults,
      limits: toldLimits(settings),
      health: parts.health,
    }),
    ...createTokenHandlers({ tokens, operations: underWay }),
    ...createBoxHandlers({ boxes, operations: underWay, node: settings.region }),
    ...createExecHandlers({ boxes, execs }),
    ...createVolumeHandlers({ volumes, attachments, node: settings.region }),
    ...createQuotaHandlers({ quotas: createQuotas({ store, clock }) }),
  }
}

async function listen(settings: AgentSettings, handler: HttpHandler, deps: DeploymentDeps) {
  const { closers, logger, clock } = deps
  const tls = settings.channelTls
  const server = tls
    ? createTlsServer({
        ...SERVER_OPTIONS,
        ca: readFileSync(tls.ca),
        cert: readFileSync(tls.cert),
        key: readFileSync(tls.key),
        requestCert: true,
        rejectUnauthorized: true,
      })
    : createServer(SERVER_OPTIONS)
  const serving = serve(server, { handler, logger, now: () => clock.now() })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(settings.port, settings.host, resolve)
  })
  closers.add('server', () => void server.closeAllConnections())
  return { server, serving }
}

function toldLimits(settings: AgentSettings): Record<string, number> {
  const { limits } = settings
  return {
    requests_per_second: limits.rateLimitPerSecond,
    requests_burst: limits.rateLimitBurst,
    boxes_max: limits.boxesMax,
    volumes_max: limits.volumesMax,
    memory_overcommit: limits.memoryOvercommit,
    memory_reserve_bytes: limits.memoryReserveBytes,
    pids_per_box: limits.pidsPerBox,
    exec_output_bytes: limits.execOutputBytes,
    exec_kept_bytes: limits.execKeptBytes,
    exec_records_per_box: limits.execRecordsPerBox,
    exec_record_bytes_per_box: limits.execRecordBytesPerBox,
    execs_at_once: limits.execsAtOnce,
    large_body_bytes_at_once: limits.largeBodyBytesAtOnce,
    exec_body_bytes: operations.createExec.maxBodyBytes,
    max_results: 1000,
    wait_seconds: 25,
    idempotency_keep_seconds: limits.idempotencyKeepMs / 1000,
    operation_keep_seconds: limits.operationKeepMs / 1000,
    ended_token_keep_seconds: limits.tokenKeepMs / 1000,
    body_bytes: 1024 ** 2,
  }
}

const EXEC_END_MS = 2_000
const CLOSE_MS = 15_000
