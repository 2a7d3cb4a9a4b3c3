interface ProgressBarProps {
  label: string
  /** The progress in words, if they say more than a percentage. */
  words?: string
  /** From 0 to 100, or null while it is unknown. */
  percent: number | null
  /** Whether work continues that the percentage does not show. */
  isPulsing?: boolean
  /** Margin and height. */
  className: string
}

/** A progress bar. */
export function ProgressBar({ label, words, percent, isPulsing = false, className }: ProgressBarProps) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent === null ? undefined : Math.round(percent)}
      aria-valuetext={words}
      className={`overflow-hidden rounded-full bg-raised ${className}`}
    >
      {percent === null ? (
        <div className="h-full w-full animate-pulse bg-accent opacity-40" />
      ) : (
        <div className={`h-full bg-accent ${isPulsing ? 'animate-pulse' : ''}`} style={{ width: `${percent}%` }} />
      )}
    </div>
  )
}
