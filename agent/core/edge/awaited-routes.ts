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
    create: (caller, request, options) => settled(boxes.create(caller, request, options)),
    update: async (ref, body, options) => {
      const record = await boxes.update(ref, body, options)
      await routes.settle(record.id)
      return record
    },
    stop: (ref, options) => settled(boxes.stop(ref, options)),
    resume: (ref, options) => settled(boxes.resume(ref, options)),
    remove: async (ref, options) => {
      const { id } = await boxes.get(ref)
      await boxes.remove(ref, options)
      await routes.settle(id)
    },
  }
}
