import { describe, expect, test } from '@jest/globals'
import { createTreePaths, parseMountInfo } from '../../../agent/drivers/host/mount-info.ts'

describe('a mount table', () => {
  test('is read with its optional fields, its options and any bytes in names', () => {
    const text = [
      '22 1 0:45 /sub_a / rw,nosuid,nodev shared:1 master:2 - btrfs /dev/loop0 rw,subvol=/sub_a',
      String.raw`31 22 0:45 /vol_b /a\040b/\134x ro,nosuid - btrfs /dev/loop0 rw,subvol=/vol_b`,
      '32 22 0:45 /vol_c /\xff\xc3\xa9 rw - btrfs /dev/loop0 rw',
      '',
    ]
    const [root, readOnly, bytes, ...others] = parseMountInfo(Buffer.from(text.join('\n'), 'latin1'))
    expect(root).toEqual({
      id: 22,
      parentId: 1,
      device: '0:45',
      root: '/sub_a',
      rawPath: '/',
      path: '/',
      readOnly: false,
      type: 'btrfs',
      source: '/dev/loop0',
      superOptions: 'rw,subvol=/sub_a',
      peerGroup: 1,
      masterGroup: 2,
    })
    expect(readOnly).toMatchObject({
      id: 31,
      parentId: 22,
      path: String.raw`/a b/\x`,
      readOnly: true,
      peerGroup: null,
      masterGroup: null,
    })
    expect(bytes).toMatchObject({ rawPath: '/\xff\xc3\xa9', path: '/\ufffdé' })
    expect(others).toEqual([])
  })

  test('is empty without lines', () => {
    expect(parseMountInfo(Buffer.alloc(0))).toEqual([])
  })
})

describe('paths of a filesystem and of the host', () => {
  test.each([
    ['a pool mounted whole', '/run/b/pool/sub_a', '/sub_a', '/vol_b', '/run/b/pool/vol_b'],
    ['a directory of the host', '/tmp/x/roots/a', '/tmp/x/roots/a', '/tmp/x/vol', '/tmp/x/vol'],
    ['a pool mounted in part', '/mnt/sub_a', '/inner/sub_a', '/inner/vol_b', '/mnt/vol_b'],
    ['what is not in the part that is mounted', '/mnt/sub_a', '/inner/sub_a', '/vol_b', null],
    ['a name that only begins alike', '/mnt/sub_a', '/in/sub_a', '/inner/vol_b', null],
    ['the root of the filesystem', '/run/pool/sub_a', '/sub_a', '/', '/run/pool/'],
  ])('belong together for %s', (_, hostPath, root, inside, expected) => {
    expect(createTreePaths(hostPath, root).hostPath(inside)).toBe(expected)
  })
})
