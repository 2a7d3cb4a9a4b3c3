import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createClient } from '../helpers/client.ts'
import { applyOperation, createModel, forgetDirectories, Unpredictable } from '../helpers/model.ts'
import { createDraw, type Operation } from '../helpers/model-operations.ts'
import { eventually, isPredicted, type ModelledService, modelService } from '../helpers/model-service.ts'
import type { Model } from '../helpers/model-state.ts'
import { createRandom, readSeed } from '../helpers/sample.ts'
import { startService, type TestService } from '../helpers/service.ts'

const STEPS = Number(process.env['TEST_MODEL_STEPS'] ?? 150)
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
}, 60_000)

afterAll(async () => {
  await service.close()
}, 60_000)

test(
  `boxes and volumes are what a model says, whatever is done to them in ${STEPS} steps`,
  async () => {
    try {
      for (let step = 0; step < STEPS; step++) {
        log.push(`${step}:`)
        if (draw.chance(0.04)) await restart(draw.pick(['SIGTERM', 'SIGKILL']))
        else if (draw.chance(0.08)) await cutOff()
        else if (draw.chance(0.15)) await both()
        else await one()
      }
      await modelled.compareWorld(model)
      await removeAll()
      await modelled.compareWorld(model)
    } catch (error) {
      const lines = [`TEST_SEED=${seed}`, ...log, '', String(error), '', ...service.logs.slice(-30)]
      throw new Error(lines.join('\n'), { cause: error })
    }
    expect(log.length).toBeGreaterThan(STEPS)
  },
  60_000 + STEPS * 2000,
)

/** One operation, and what it changed. */
async function one(): Promise<void> {
  const { operation, predictions, after } = drawPredictable(() => [draw.any(model)], inOrder)
  const [prediction = []] = predictions
  // What is busy stays so: there is nothing to wait for.
  const told = await send(operation[0], prediction.includes('volume_busy') ? 1 : undefined)
  if (!isPredicted(prediction, told)) throw new Error(`predicted ${prediction.join(' or ') || 'success'}, got ${told}`)
  model = after
  await modelled.compare(model)
  await modelled.compareInside(model, namesToLookInto(operation))
}

/** Two operations at once have the outcome of one after the other. */
async function both(): Promise<void> {
  const drawn = drawPredictable(
    () => [draw.change(model), draw.change(model)],
    (before, operations) => ({
      forward: inOrder(before, operations),
      backward: inOrder(before, operations.toReversed()),
    }),
  )
  const told = await Promise.all(drawn.operation.map((operation) => send(operation, 3)))
  const orders = [
    { ...drawn.forward, told },
    { ...drawn.backward, told: told.toReversed() },
  ].filter(({ predictions, told }) => predictions.every((each, place) => isPredicted(each, told[place] ?? null)))
  if (orders.length === 0) throw new Error(`no order of the two has these outcomes: ${told.join(', ')}`)
  model = await adopt(orders.map(({ after }) => after))
  await modelled.compareInside(model, [...model.boxes.keys()])
}

/** An operation whose agent is killed meanwhile is done or not. */
async function cutOff(): Promise<void> {
  const { operation, predictions, after } = drawPredictable(() => [draw.change(model)], inOrder)
  const sent = send(operation[0], 1).catch(() => 'no answer')
  await sleep(draw.pick([0, 2, 4, 6, 9, 13, 18, 25, 40]))
  await service.killAgent()
  const told = await sent
  log.push('  killed')
  await service.startAgent()
  const isAnswered = told === null || predictions.some((codes) => codes.includes(told))
  if (told !== null) forgetDirectories(model, after)
  model = await adopt(isAnswered ? [told === null ? after : model] : [after, model])
  await eventually(() => modelled.compareInside(model, [...model.boxes.keys()]))
}

/** All boxes, mounts and limits are there again, and none was ever gone. */
async function restart(signal: NodeJS.Signals): Promise<void> {
  log.push(`  restart by ${signal}`)
  await service.killAgent(signal)
  await service.startAgent()
  await modelled.compare(model)
  await modelled.compareInside(model, [...model.boxes.keys()])
}

async function removeAll(): Promise<void> {
  const operations: Operation[] = [
    ...[...model.boxes.keys()].map((box) => ({ kind: 'deleteBox', box }) as const),
    ...[...model.volumes.keys()].map((volume) => ({ kind: 'deleteVolume', volume }) as const),
  ]
  for (const operation of operations) expect(await send(operation)).toBeNull()
  model = createModel()
}

async function send(operation: Operation | undefined, waitSeconds?: number): Promise<string | null> {
  if (operation === undefined) throw new Error('nothing to send')
  const place = log.push(`  ${JSON.stringify(operation)}`) - 1
  const told = await modelled.send(operation, waitSeconds)
  log[place] += ` → ${told ?? 'success'}`
  return told
}

/** The first of `candidates` that the service agrees with, as soon as it comes to rest. */
async function adopt(candidates: readonly Model[]): Promise<Model> {
  return eventually(async () => {
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

/** Draws until the model knows what comes of it. */
function drawPredictable<T>(
  drawOperations: () => Operation[],
  predict: (before: Model, operations: Operation[]) => T,
): T & { operation: Operation[] } {
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
  operations: readonly Operation[],
): { predictions: (readonly string[])[]; after: Model } {
  const after = structuredClone(before)
  const predictions = operations.map((operation) => applyOperation(after, operation))
  return { predictions, after }
}

function namesToLookInto(operations: readonly Operation[]): string[] {
  const touched = operations.flatMap((operation) => [
    'box' in operation ? operation.box : '',
    'name' in operation ? operation.name : '',
  ])
  return [...touched, draw.pick([...model.boxes.keys()]) ?? '']
}
