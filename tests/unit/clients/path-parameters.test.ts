import { describe, expect, test } from '@jest/globals'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { fillPath } from '../../../sdk/typescript/src/path-parameters.ts'

describe('a name in a path', () => {
  test.each(['', '.', '..'])('is not %j, which would lead to another resource', async (name) => {
    const sent: string[] = []
    const boxyard = createBoxyard({
      url: 'http://127.0.0.1:1',
      fetch: async ({ url }) => {
        sent.push(url)
        return new Response('{}')
      },
    })
    await expect(boxyard.call('deleteBox', { path: { project: 'demo', name } })).rejects.toThrow('is not a name')
    await expect(boxyard.call('listBoxes', { path: { project: name } })).rejects.toThrow('is not a name')
    await expect(boxyard.box('demo', name).readFile('/a')).rejects.toThrow('is not a name')
    await expect(boxyard.box('demo', name).connect(80)).rejects.toThrow('is not a name')
    expect(sent).toEqual([])
    expect(() => fillPath('/v1/{name}', { name })).toThrow('is not a name')
  })

  test('is one segment, whatever it has', () => {
    expect(fillPath('/a/{b}/c', { b: 'x/../y?z#%' })).toBe('/a/x%2F..%2Fy%3Fz%23%25/c')
  })
})
