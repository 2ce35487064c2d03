"""The tables of all steps in one page."""


def write(file, steps, kept, kind):
    revision, card = kept.key
    text = [f"Build {revision} on {card}.\n"]
    if kind == "emulated":
        text.append("This device is software: no time below says anything of a GPU.\n")
    for step in steps:
        row = kept.row_of(step.name)
        if row is None or row["state"] == "impossible":
            continue
        text.append(f"## {step.title}\n")
        if row["state"] == "failed":
            text.append(f"**It failed after {row['duration_s']:.0f} s; what it had found:**\n")
        if row["state"] == "hung":
            text.append(f"**It was ended after its limit of {row['limit_s']:.0f} s; what it had found:**\n")
        text.append(row["output"].strip() + "\n")
        if row["clocks"]:
            text.append(f"{row['duration_s']:.0f} s; {row['clocks']}.\n")
    part = file.with_name(file.name + ".part")
    part.write_text("\n".join(text))
    part.replace(file)
