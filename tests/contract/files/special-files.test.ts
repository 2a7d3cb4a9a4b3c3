import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { FileKind } from '../../../agent/ports/files/files.ts'
import { type BoxFiles, type FileBox, openFileBox, PLAIN, pieces } from '../../helpers/files/lab.ts'

const P = (path: string): Buffer => Buffer.from(path)
const OPTIONS = { recursive: true, overwrite: true, mode: null, parents: true }
const KINDS: readonly FileKind[] = ['fifo', 'character', 'block', 'socket']
const REFUSED = { code: 'path_invalid' }
const NO_DIRECTORY = { code: 'not_a_directory' }

describe.each(['running', 'stopped'])('what is no file, in a %s box', (view) => {
  let lab: FileBox
  let box: BoxFiles
  const servers: net.Server[] = []

  beforeAll(async () => {
    lab = await openFileBox(view)
    box = lab.box
  })

  afterAll(async () => {
    for (const server of servers) server.close()
    await lab.close()
  })

  /** Makes a directory with `odd` (of the given kind), `link` to it, and `file`. Returns its path in the box. */
  const place = async (kind: FileKind, name: string): Promise<string> => {
    const home = `/${kind}-${name}`
    const odd = lab.disk(`${home}/odd`)
    fs.mkdirSync(lab.disk(home))
    fs.writeFileSync(lab.disk(`${home}/file`), 'file')
    fs.symlinkSync('odd', lab.disk(`${home}/link`))
    if (kind === 'fifo') execFileSync('mkfifo', [odd])
    else if (kind === 'character') execFileSync('mknod', [odd, 'c', '1', '5'])
    else if (kind === 'block') execFileSync('mknod', [odd, 'b', '7', '0'])
    else {
      const server = net.createServer().listen(odd)
      servers.push(server)
      await once(server, 'listening')
    }
    return home
  }

  const packed = async (path: string): Promise<Buffer> => {
    const archive: Uint8Array[] = []
    for await (const piece of await lab.files.pack(box.place, P(path))) archive.push(piece)
    return Buffer.concat(archive)
  }

  test.each(KINDS)('a %s is neither read nor written, by its name or by a link', async (kind) => {
    const home = await place(kind, 'bytes')
    for (const name of ['odd', 'link']) {
      const path = `${home}/${name}`
      await expect(box.read(path)).rejects.toMatchObject(REFUSED)
      await expect(box.write(path, 'x')).rejects.toMatchObject(REFUSED)
      await expect(lab.files.write(box.place, P(path), PLAIN, pieces(Buffer.alloc(100_000)))).rejects.toMatchObject(
        REFUSED,
      )
      await expect(packed(path)).rejects.toMatchObject(REFUSED)
    }
  })

  test.each(KINDS)('a %s is no directory', async (kind) => {
    const home = await place(kind, 'walk')
    for (const name of ['odd', 'link']) {
      await expect(box.list(`${home}/${name}`)).rejects.toMatchObject(NO_DIRECTORY)
      await expect(box.read(`${home}/${name}/in`)).rejects.toMatchObject(NO_DIRECTORY)
      await expect(box.write(`${home}/${name}/in`, 'x', { parents: true })).rejects.toMatchObject(NO_DIRECTORY)
      await expect(lab.files.unpack(box.place, P(`${home}/${name}`), pieces(''))).rejects.toMatchObject(NO_DIRECTORY)
      await expect(lab.files.makeDirectory(box.place, P(`${home}/${name}/in`), OPTIONS)).rejects.toMatchObject(
        NO_DIRECTORY,
      )
    }
  })

  test.each(KINDS)('a %s is described, listed, moved and removed without being opened', async (kind) => {
    const home = await place(kind, 'names')
    expect(await lab.files.stat(box.place, P(`${home}/odd`))).toMatchObject({ kind })
    expect(await box.names(home, 2)).toEqual(['file', 'link', 'odd'])
    await lab.files.move(box.place, P(`${home}/odd`), P(`${home}/moved`), OPTIONS)
    expect(await lab.files.stat(box.place, P(`${home}/moved`))).toMatchObject({ kind })
    await lab.files.remove(box.place, P(home), OPTIONS)
    await expect(lab.files.stat(box.place, P(home))).rejects.toMatchObject({ code: 'file_not_found' })
  })

  test.each(KINDS)('a tree with a %s is packed to its end', async (kind) => {
    const home = await place(kind, 'tree')
    const names = execFileSync('tar', ['-t'], { input: await packed(home), encoding: 'utf8' })
      .trim()
      .split('\n')
    expect(names.sort()).toEqual(kind === 'fifo' ? ['file', 'link', 'odd'] : ['file', 'link'])
  })

  test('a directory is not read as a file, and takes the place of none', async () => {
    fs.mkdirSync(lab.disk('/directory/in'), { recursive: true })
    await expect(box.read('/directory')).rejects.toMatchObject({ code: 'is_a_directory' })
    await expect(box.write('/directory', 'x')).rejects.toMatchObject({ code: 'is_a_directory' })
    await expect(lab.files.remove(box.place, P('/directory'), { recursive: false })).rejects.toMatchObject({
      code: 'directory_not_empty',
    })
  })
})
