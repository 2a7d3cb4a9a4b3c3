import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { untilSucceeds } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { applyOperation, createModel, forgetDirectories } from '../helpers/model/model.ts'
import { createDraw, type ModelOperation } from '../helpers/model/operations.ts'
import { Unpredictable } from '../helpers/model/places.ts'
import { isPredicted, type ModelledService, modelService } from '../helpers/model/service.ts'
import { swapNewest } from '../helpers/model/snapshots.ts'
import type { Model } from '../helpers/model/state.ts'
import { runtimeOfTests } from '../helpers/pods/cluster-of-tests.ts'
import { createRandom, drawsAll, readSeed } from '../helpers/sample.ts'
import { startService, type TestService } from '../helpers/service.ts'

const STEPS = Number(
  process.env['TEST_MODEL_STEPS'] ?? (runtimeOfTests() === 'kubernetes' ? 80 : drawsAll() ? 150 : 100),
)
/** Least duration, however many steps are set. */
const MINUTES = Number(process.env['TEST_MODEL_MINUTES'] ?? 0)
/** Number of backups restored at the end. */
const RESTORED = 6
const seed = readSeed()
const draw = createDraw(createRandom(seed))
const log: string[] = []

let service: TestService
let modelled: ModelledService
let model: Model = createModel()

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_POOL_GB: '2' } })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  modelled = modelService(service, client, 'model')
})

afterAll(async () => {
  await service.close()
})

test(
  `boxes, volumes, snapshots, backups and bases match a model after ${STEPS} random steps`,
  async () => {
    const end = performance.now() + MINUTES * 60_000
    try {
      for (let step = 0; step < STEPS || performance.now() < end; step++) {
        log.push(`${step}:`)
        if (draw.chance(0.04)) await restart(draw.pick(['SIGTERM', 'SIGKILL']))
        else if (draw.chance(0.08)) await cutOff()
        else if (draw.chance(0.15)) await both()
        else await one()
      }
      await modelled.compareWorld(model)
      await restoreBackups()
      await removeAll()
      await modelled.compareWorld(model)
    } catch (error) {
      // Puts the cause first, because the end of a long message is cut.
      const lines = [`TEST_SEED=${seed}`, String(error), '', ...log, '', ...service.logs.slice(-30)]
      throw new Error(lines.join('\n'), { cause: error })
    }
    expect(log.length).toBeGreaterThan(STEPS)
  },
  60_000 + STEPS * 4_800 + MINUTES * 60_000,
)

/** Sends one drawn operation, then compares the response and the changes with the model. */
async function one(): Promise<void> {
  const { operation, predictions, after } = drawPredictable(() => [draw.any(model)], inOrder)
  const [prediction = []] = predictions
  // A busy volume stays busy, so the request does not wait.
  const told = await send(operation[0], prediction.includes('volume_busy') ? 1 : undefined)
  if (!isPredicted(prediction, told)) throw new Error(`predicted ${prediction.join(' or ') || 'success'}, got ${told}`)
  model = after
  await modelled.compare(model)
  await modelled.compareInside(model, namesToLookInto(operation))
}

/** Sends two operations at once. Their outcome must equal a sequential run in one of the two orders. */
async function both(): Promise<void> {
  const drawn = drawPredictable(
    () => {
      const first = draw.change(model)
      return [first, draw.chance(0.5) ? draw.related(model, first) : draw.change(model)]
    },
    (before, operations) => ({
      forward: inOrderOf(before, operations),
      backward: inOrderOf(before, operations.toReversed()),
    }),
  )
  const told = await Promise.all(drawn.operation.map((operation) => send(operation, 3)))
  const orders = [
    { ...drawn.forward, told },
    { ...drawn.backward, told: told.toReversed() },
    ...refusedByOther(drawn.operation, told),
  ].filter(({ predictions, told }) => predictions.every((each, place) => isPredicted(each, told[place] ?? null)))
  if (orders.length === 0) throw new Error(`no order of the two has these outcomes: ${told.join(', ')}`)
  model = await adopt(orders.flatMap(({ after }) => [after, ...numberedOtherwise(after, drawn.operation)]))
  await modelled.compareInside(model, [...model.boxes.keys()])
}

/**
 * Returns the outcome in which one of two operations failed because of the other, and so changed nothing. A box restore makes its box and
 * volumes busy. A failing attachment keeps its volume in use until the agent undoes it.
 */
function refusedByOther(operations: readonly ModelOperation[], told: readonly (string | null)[]) {
  const isRefused = operations.map((operation, place) => {
    const other = operations[1 - place]
    // A volume has at most one backup at a time.
    if (operation.kind === 'backUp' && other?.kind === 'backUp') return told[place] === 'volume_busy'
    if (other?.kind === 'attach' && told[1 - place] === 'path_invalid')
      return told[place] === 'volume_in_use' && hasVolume(operation, other.volume)
    if (other?.kind !== 'restoreBox') return false
    if (told[place] === 'volume_in_use') return volumesOf(operation).some((each) => volumesOf(other).includes(each))
    const box = model.boxes.get(other.box)
    const isConcerned =
      ('box' in operation && operation.box === other.box) ||
      (isVolumeRestore(operation) && box?.mounts.some(({ name }) => name === operation.volume))
    return told[place] === 'box_busy' && isConcerned
  })
  if (!isRefused.includes(true)) return []
  const rest = operations.filter((_, place) => !isRefused[place])
  return [{ ...inOrder(model, rest), told: told.filter((_, place) => !isRefused[place]) }]
}

function isVolumeRestore(
  operation: ModelOperation,
): operation is ModelOperation & { kind: 'restoreVolume' | 'restoreOver' } {
  return operation.kind === 'restoreVolume' || operation.kind === 'restoreOver'
}

function hasVolume(operation: ModelOperation, volume: string): boolean {
  if (operation.kind === 'createBox') return operation.mounts.some(({ name }) => name === volume)
  return 'volume' in operation && operation.volume === volume
}

/** Returns the identities of the volumes that a restore replaces. */
function volumesOf(operation: ModelOperation): (number | undefined)[] {
  if (isVolumeRestore(operation)) return [model.volumes.get(operation.volume)?.id]
  if (operation.kind !== 'restoreBox') return []
  const data = model.boxes.get(operation.box)?.history.snapshots.get(operation.snapshot)?.data ?? []
  return data.filter((part) => !part.read_only).map(({ volumeId }) => volumeId)
}

/** Returns the outcomes in which the later of two concurrent snapshots of one owner holds the older content. */
function numberedOtherwise(after: Model, operations: readonly ModelOperation[]): Model[] {
  return operations.flatMap((operation) => {
    const isNumbered = (operation.kind === 'takeBox' || operation.kind === 'takeVolume') && operation.name === undefined
    if (!isNumbered) return []
    const other = structuredClone(after)
    const owner = operation.kind === 'takeBox' ? other.boxes.get(operation.box) : other.volumes.get(operation.volume)
    if (owner) swapNewest(owner.history)
    return [other]
  })
}

/** Kills the agent during an operation, which must then be either done or not done. */
async function cutOff(): Promise<void> {
  const { operation, predictions, after } = drawPredictable(() => [draw.change(model)], inOrderOf)
  const sent = send(operation[0], 1).catch(() => 'no answer')
  await sleep(draw.pick([0, 2, 4, 6, 9, 13, 18, 25, 40]))
  await service.killAgent()
  const told = await sent
  log.push('  killed')
  await service.startAgent()
  const isAnswered = told === null || predictions.some((codes) => codes.includes(told))
  if (told !== null) forgetDirectories(model, after)
  model = await adopt(isAnswered ? [after] : [after, model])
  await untilSucceeds(() => modelled.compareInside(model, [...model.boxes.keys()]))
}

/** Restarts the agent. All boxes, mounts and limits must be back, and no process may have ended. */
async function restart(signal: NodeJS.Signals): Promise<void> {
  log.push(`  restart by ${signal}`)
  await service.killAgent(signal)
  await service.startAgent()
  await modelled.compare(model)
  await modelled.compareInside(model, [...model.boxes.keys()])
}

/** Restores the newest backups and compares their content with the model. */
async function restoreBackups(): Promise<void> {
  for (const { key } of model.backups.slice(-RESTORED)) {
    const operation = { kind: 'createFromBackup', name: `back-${key}`, backup: key } as const
    applyOperation(model, operation)
    expect(await send(operation)).toBeNull()
  }
  await modelled.compare(model)
}

async function removeAll(): Promise<void> {
  const operations: ModelOperation[] = [
    ...model.backups.map(({ key: backup, volume: of }) => ({ kind: 'dropBackup', of, backup }) as const),
    ...[...model.bases.keys()].map((base) => ({ kind: 'deleteBase', base }) as const),
    ...[...model.boxes.keys()].map((box) => ({ kind: 'deleteBox', box }) as const),
    ...[...model.volumes.keys()].map((volume) => ({ kind: 'deleteVolume', volume }) as const),
  ]
  for (const operation of operations) expect(await send(operation)).toBeNull()
  model = createModel()
}

async function send(operation: ModelOperation | undefined, waitSeconds?: number): Promise<string | null> {
  if (operation === undefined) throw new Error('nothing to send')
  const place = log.push(`  ${JSON.stringify(operation)}`) - 1
  const told = await modelled.send(operation, waitSeconds)
  log[place] += ` → ${told ?? 'success'}`
  return told
}

/** Returns the first of `candidates` that matches the service once it has settled. */
async function adopt(candidates: readonly Model[]): Promise<Model> {
  return untilSucceeds(async () => {
    const faults: unknown[] = []
    for (const candidate of candidates) {
      try {
        await modelled.compare(candidate)
        return candidate
      } catch (error) {
        faults.push(error)
      }
    }
    throw new Error(faults.map(String).join('\n or: '))
  })
}

/** Draws operations until the model can predict their outcome. */
function drawPredictable<T>(
  drawOperations: () => ModelOperation[],
  predict: (before: Model, operations: ModelOperation[]) => T,
): T & { operation: ModelOperation[] } {
  for (;;) {
    const operation = drawOperations()
    try {
      return { operation, ...predict(model, operation) }
    } catch (error) {
      if (!(error instanceof Unpredictable)) throw error
    }
  }
}

function inOrder(
  before: Model,
  operations: readonly ModelOperation[],
): { predictions: (readonly string[])[]; after: Model } {
  const after = structuredClone(before)
  const predictions = operations.map((operation) => applyOperation(after, operation))
  return { predictions, after }
}

/** Predicts like `inOrder`. Throws Unpredictable where a kill or a late refusal could end processes unnoticed. */
function inOrderOf(before: Model, operations: readonly ModelOperation[]): ReturnType<typeof inOrder> {
  const done = inOrder(before, operations)
  for (const [place, operation] of operations.entries()) {
    const isHalted = operation.kind === 'restoreBox' && before.boxes.get(operation.box)?.sitsIn.length
    if (isHalted && (operations.length > 1 || done.predictions[place]?.length)) throw new Unpredictable(operation.kind)
  }
  return done
}

function namesToLookInto(operations: readonly ModelOperation[]): string[] {
  const touched = operations.flatMap((operation) => [
    'box' in operation ? operation.box : '',
    'name' in operation ? operation.name : '',
  ])
  return [...touched, draw.pick([...model.boxes.keys()]) ?? '']
}
