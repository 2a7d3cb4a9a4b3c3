import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { accessList, attributesOf, capabilities, setAttributes } from '../../helpers/files/attributes.ts'
import { type BoxFiles, type FileBox, openFileBox, pieces } from '../../helpers/files/lab.ts'

describe.each(['running', 'stopped'])('attributes of files of a %s box', (view) => {
  let lab: FileBox
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileBox(view)
    box = lab.box
  })

  afterAll(() => lab.close())

  const listFor = (user: number, { mask = 6, other = 0 } = {}): Buffer =>
    accessList([1, 6, -1], [2, 6, user], [4, 4, -1], [16, mask, -1], [32, other, -1])
  const marks = (): Record<string, Buffer> => ({
    'security.capability': capabilities(1 << 10),
    'system.posix_acl_access': listFor(1000),
    'user.note': Buffer.from('noted'),
  })
  const makeDirectory = (name: string): string => {
    fs.mkdirSync(lab.disk(`/${name}`))
    return `/${name}`
  }
  const put = (path: string, text: string, attributes: Record<string, Buffer> = {}): void => {
    fs.writeFileSync(lab.disk(path), text)
    setAttributes(lab.disk(path), attributes)
  }

  test('a file that is replaced keeps its access list, capabilities and attributes', async () => {
    const home = makeDirectory('kept')
    put(`${home}/file`, 'first', marks())
    const then = attributesOf(lab.disk(`${home}/file`))
    expect(Object.keys(then).sort()).toEqual(Object.keys(marks()))
    for (const text of ['second', 'x'.repeat(200_000)]) {
      await box.write(`${home}/file`, text)
      expect(fs.readFileSync(lab.disk(`${home}/file`), 'utf8')).toBe(text)
      expect(attributesOf(lab.disk(`${home}/file`))).toEqual(then)
    }
    // Same as chmod: the group bits set the mask, and never the group's rights.
    await box.write(`${home}/file`, 'third', { mode: 0o644 })
    const list = listFor(1000, { mask: 4, other: 4 }).toString('hex')
    expect(attributesOf(lab.disk(`${home}/file`))).toEqual({ ...then, 'system.posix_acl_access': list })
  })

  test('a file without an access list gets none from its directory, a new one does', async () => {
    const home = makeDirectory('defaults')
    await box.write(`${home}/plain`, 'first', { mode: 0o640 })
    setAttributes(lab.disk(home), { 'system.posix_acl_default': listFor(1000) })
    await box.write(`${home}/plain`, 'second')
    expect(attributesOf(lab.disk(`${home}/plain`))).toEqual({})
    expect(fs.statSync(lab.disk(`${home}/plain`)).mode & 0o777).toBe(0o640)
    await box.write(`${home}/new`, 'first')
    const inherited = listFor(1000, { mask: 4 }).toString('hex')
    expect(attributesOf(lab.disk(`${home}/new`))).toEqual({ 'system.posix_acl_access': inherited })
  })

  test('a file whose owner is none of the box is not written', async () => {
    const home = makeDirectory('foreign')
    put(`${home}/file`, 'kept')
    fs.chownSync(lab.disk(`${home}/file`), 70_000, 0)
    await expect(box.write(`${home}/file`, 'other')).rejects.toMatchObject({
      code: 'path_invalid',
      message: expect.stringContaining('its owner or group is none of the box'),
    })
    expect(fs.readFileSync(lab.disk(`${home}/file`), 'utf8')).toBe('kept')
  })

  test.each([
    ['an archive gives a file the attributes of the one that it replaces', 'unpack'],
    ['a layer of an image gives a file its own', 'unpackLayer'],
  ] as const)('%s', async (_, act) => {
    const home = makeDirectory(act)
    put(`${home}/file`, 'old', marks())
    const then = attributesOf(lab.disk(`${home}/file`))
    const source = fs.mkdtempSync(`${os.tmpdir()}/boxyard-attributes-`)
    fs.writeFileSync(`${source}/file`, 'new')
    fs.chmodSync(`${source}/file`, 0o660)
    const archive = execFileSync('tar', ['-C', source, '-cf', '-', 'file'])
    fs.rmSync(source, { recursive: true })
    const bytes = (): AsyncIterable<Uint8Array> => pieces(archive)
    if (act === 'unpack') await lab.files.unpack(box.place, Buffer.from(home), bytes())
    else await lab.files.unpackLayer(box.place, Buffer.from(home), bytes)
    expect(fs.readFileSync(lab.disk(`${home}/file`), 'utf8')).toBe('new')
    expect(attributesOf(lab.disk(`${home}/file`))).toEqual(act === 'unpack' ? then : {})
  })
})
