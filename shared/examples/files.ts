const file = {
  path: '/srv/app.conf',
  path_base64: null,
  type: 'file',
  size_bytes: 12,
  mode: '0644',
  uid: 0,
  gid: 0,
  modified_at: '2026-11-20T08:15:30.123Z',
  target: null,
  etag: '"18a1f3c2d4e5f607-c"',
}
const directory = { ...file, path: '/srv/data', type: 'directory', size_bytes: 0, mode: '0755' }

/** Examples of the operations on files. */
export const FILE_EXAMPLES = {
  readFile: { response: { ...file, content: 'listen 8080\n', encoding: 'utf-8' } },
  writeFile: { body: { path: '/srv/app.conf', content: 'listen 8080\n', mode: '0644' }, response: file },
  statFile: { response: file },
  listFiles: {
    response: { files: [{ ...file, path: 'app.conf' }], has_more: false, next_continuation_token: null },
  },
  deleteFile: {},
  moveFile: {
    body: { from: '/srv/app.conf', to: '/srv/old.conf', overwrite: true },
    response: { ...file, path: '/srv/old.conf' },
  },
  makeDirectory: { body: { path: '/srv/data', parents: true }, response: directory },
  restoreFile: { body: { path: '/srv/app.conf', snapshot: 'before-upgrade' }, response: file },
  readArchive: {},
  writeArchive: {
    response: {
      entries: 41,
      refused: [{ path: '../etc/passwd', reason: 'leads out of the directory' }],
      refused_count: 1,
    },
  },
}
