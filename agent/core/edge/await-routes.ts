import type { Boxes, Mutated } from '../boxes/boxes.ts'
import type { EdgeRoutes } from './routes.ts'

/** Makes changes of boxes resolve only once the edge serves them. */
export function awaitBoxRoutes(boxes: Boxes, routes: Pick<EdgeRoutes, 'settle'>): Boxes {
  const settled = async (mutating: Promise<Mutated>): Promise<Mutated> => {
    const mutated = await mutating
    await routes.settle(mutated.record.id)
    return mutated
  }
  return {
    ...boxes,
    create: (caller, wanted, how) => settled(boxes.create(caller, wanted, how)),
    update: async (ref, body, how) => {
      const record = await boxes.update(ref, body, how)
      await routes.settle(record.id)
      return record
    },
    stop: (ref, how) => settled(boxes.stop(ref, how)),
    resume: (ref, how) => settled(boxes.resume(ref, how)),
    remove: async (ref, how) => {
      const { id } = await boxes.get(ref)
      await boxes.remove(ref, how)
      await routes.settle(id)
    },
  }
}
