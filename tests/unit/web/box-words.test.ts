import { describe, expect, it } from '@jest/globals'
import { discardWords, stopWords } from '../../../web/src/pages/box/services/service-words.ts'
import { sameTextWords } from '../../../web/src/pages/box/snapshots/same-text.ts'

type Service = Parameters<typeof stopWords>[0]

/** Returns a service whose versions run these commands. */
const serviceOf = (versions: Partial<Record<'active' | 'preview', string[]>>): Service => {
  const version = (command: string[] | undefined) => (command === undefined ? null : { spec: { command } })
  return { active: version(versions.active), preview: version(versions.preview) } as Service
}

describe('what is asked about the versions of a service', () => {
  const both = serviceOf({ active: ['serve', 'old one'], preview: ['serve', 'new'] })

  it('names each version that a stop ends', () => {
    expect(stopWords(both)).toContain("This ends the active version (serve 'old one') and the preview (serve new).")
    expect(stopWords(serviceOf({ active: ['serve'] }))).toContain('This ends the active version (serve).')
    expect(stopWords(serviceOf({}))).toContain('It does not run yet.')
  })

  it('names the version that is discarded, and the one that goes on', () => {
    expect(discardWords(both)).toBe(
      "This ends the preview (serve new). The active version keeps running (serve 'old one'). To get it back, deploy it again.",
    )
  })

  it('keeps long commands and lines short', () => {
    expect(stopWords(serviceOf({ active: ['sh', '-c', `a\n${'b'.repeat(500)}`] })).length).toBeLessThan(300)
  })
})

describe('what differs of a file with the same text', () => {
  const file = { mode: '0644', uid: 0, gid: 0, modified_at: '2026-11-27T00:00:00.000Z' }

  it('is told part by part', () => {
    expect(sameTextWords(file, { ...file, mode: '0600', uid: 7 })).toBe(
      'The text is equal. These differ: the permissions, from 0644 to 0600, the owner, from 0:0 to 7:0.',
    )
    expect(sameTextWords(file, { ...file, modified_at: '2026-11-27T00:00:00.001Z' })).toBe(
      'The text is equal. These differ: the modification time.',
    )
  })

  it('may be nothing that is shown', () => {
    expect(sameTextWords(file, file)).toContain('are the same too')
  })
})
