/** Number of files that `FILL_LINES` creates. */
export const LARGE_ROOT_FILES = 59 * 1000

/**
 * Shell lines that fill a box with 5 GB. They write 1,000 files of 87,000 incompressible bytes, then copies that share no blocks with them.
 */
export const FILL_LINES: readonly string[] = Array.from({ length: LARGE_ROOT_FILES / 1000 }, (_, i) =>
  i === 0
    ? 'mkdir -p /data/0 && cd /data/0 && n=0; while [ $n -lt 1000 ]; do head -c 87000 /dev/urandom > $n; n=$((n+1)); done'
    : `cp -r /data/0 /data/${i}`,
)
