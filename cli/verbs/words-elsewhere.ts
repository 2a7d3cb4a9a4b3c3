/** Words of other command lines, and their equivalents here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  attach: 'console',
  bash: 'exec -it BOX bash',
  bases: 'base ls',
  boxes: 'ls',
  build: 'base create',
  commit: 'base create --box',
  config: 'limits, or context ls',
  copy: 'cp',
  describe: 'info',
  destroy: 'rm',
  download: 'cp',
  get: 'info, or ls',
  images: 'base ls',
  kill: 'signal, or stop',
  new: 'create',
  pause: 'stop',
  run: 'create, then exec',
  project: 'projects',
  remove: 'rm',
  services: 'service ls',
  show: 'info',
  stats: 'top',
  status: 'info, or health',
  tokens: 'token ls',
  unpause: 'resume',
  up: 'resume',
  upload: 'cp',
  volumes: 'volume ls',
}

/** Returns the local name of a word of another command line, or null for another word. A pure function. */
export function wordHere(word: string): string | null {
  return Object.hasOwn(ELSEWHERE, word) ? (ELSEWHERE[word] ?? null) : null
}
