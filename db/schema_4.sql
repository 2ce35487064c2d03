-- Version 4: which ranks share cores. Frozen once released.

-- Ranks with cores in common are of one core set of their run; cores: how many its ranks can use at one time; threads: that the
-- rank computes with, NULL on a GPU. All NULL where it is not known.
ALTER TABLE run_rank ADD COLUMN core_set INTEGER CHECK (core_set >= 0);
ALTER TABLE run_rank ADD COLUMN cores INTEGER CHECK (cores >= 1);
ALTER TABLE run_rank ADD COLUMN threads INTEGER CHECK (threads >= 1);

-- Which ranks share how many processors stands in a list.
UPDATE run SET cluster_json = json_remove(cluster_json, '$.processors') WHERE cluster_json <> '';
UPDATE study SET cluster_json = json_remove(cluster_json, '$.processors') WHERE cluster_json <> '';
